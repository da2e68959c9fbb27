import type { Command } from "commander";
import type { Run } from "../call.ts";
import { findAgent } from "../find-agent.ts";
import { gatherTag } from "../options.ts";
import type { TagOptions } from "../options.ts";
import { toLine, toLines, toTable } from "../text.ts";

/** `fleetwright tags ...` */
export function addTagsCommands(program: Command, run: Run): void {
  const tags = program.command("tags").description("tags of agents, for selectors");
  tags
    .command("list")
    .description("list every tag and how many agents have it")
    .action(
      run(async (call) => {
        const list = await call.client.tags.list();
        const rows = list.items.flatMap(({ key, values }) =>
          values.map(({ value, agents }) => ({ key, value, agents })),
        );
        call.show(list, (view) =>
          toTable<(typeof rows)[number]>(
            rows,
            [
              ["TAG", ({ key }) => key],
              ["VALUE", ({ value }) => value],
              ["AGENTS", ({ agents }) => agents],
            ],
            view,
          ),
        );
      }),
    );
  tags
    .command("set <agent>")
    .argument("<key=value...>", "tags", gatherTag)
    .description("set tags of an agent")
    .action(
      run(async (call, text: string, pairs: TagOptions) => {
        const { node_id } = await findAgent(call.client, text);
        let all = {};
        for (const [key, value] of Object.entries(pairs))
          all = (await call.client.tags.set(node_id, { key, value })).tags;
        call.show(
          { tags: all },
          () => toLines(Object.entries(all).map(([key, value]) => toLine(`${key}=${String(value)}`))),
          Object.keys(all).map((key) => ({ key })),
        );
      }),
    );
  tags
    .command("remove <agent> <key...>")
    .description("remove tags of an agent")
    .action(
      run(async (call, text: string, keys: string[]) => {
        const { node_id } = await findAgent(call.client, text);
        for (const key of keys) await call.client.tags.remove(node_id, { key });
        call.show(null, () => toLines([`Removed ${keys.join(", ")}.`]));
      }),
    );
}
