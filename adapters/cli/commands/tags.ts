import type { Command } from "commander";
import type { Run } from "../call.ts";
import { UsageError } from "../failure.ts";
import { findAgent } from "../find-agent.ts";
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
        call.show(list, () =>
          toTable(rows, [
            ["TAG", ({ key }) => key],
            ["VALUE", ({ value }) => value],
            ["AGENTS", ({ agents }) => agents],
          ]),
        );
      }),
    );
  tags
    .command("set <agent> <key=value...>")
    .description("set tags of an agent")
    .action(
      run(async (call, text: string, pairs: string[]) => {
        const parsed = pairs.map(parsePair);
        const { node_id } = await findAgent(call.client, text);
        let all = {};
        for (const [key, value] of parsed) all = (await call.client.tags.set(node_id, { key, value })).tags;
        call.show({ tags: all }, () =>
          toLines(Object.entries(all).map(([key, value]) => toLine(`${key}=${String(value)}`))),
        );
      }),
    );
  tags
    .command("remove <agent> <key...>")
    .description("remove tags of an agent")
    .action(
      run(async (call, text: string, keys: string[]) => {
        const { node_id } = await findAgent(call.client, text);
        for (const key of keys) await call.client.tags.remove(node_id, key);
        call.show(null, () => toLines([`Removed ${keys.join(", ")}.`]));
      }),
    );
}

function parsePair(pair: string): [key: string, value: string] {
  const at = pair.indexOf("=");
  if (at < 1) throw new UsageError(`A tag is written key=value, not ${JSON.stringify(pair)}.`);
  return [pair.slice(0, at), pair.slice(at + 1)];
}
