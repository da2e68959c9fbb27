import { Option } from "commander";
import type { Command } from "commander";
import type { Operator, Role } from "fleetwright";
import type { Run } from "../call.ts";
import { UsageError } from "../failure.ts";
import { limitOption } from "../options.ts";
import { toLines } from "../text.ts";
import type { Column } from "../text.ts";

const roles = Object.keys({ Viewer: true, Operator: true, Admin: true } satisfies Record<Role, true>);

/** `fleetwright operators ...` */
export function addOperatorsCommands(program: Command, run: Run): void {
  const operators = program.command("operators").description("who may sign in");
  operators
    .command("list")
    .description("list operators")
    .option(...limitOption)
    .action(
      run((call, options: { limit?: number }) => call.showList(call.client.operators.list, options, columns)),
    );
  operators
    .command("add <username> <public-key>")
    .description("let somebody sign in with a key")
    .addOption(new Option("--role <role>", "what they may do").choices(roles).default("Operator"))
    .action(
      run(async (call, ...[username, publicKey, { role }]: [string, string, { role: Role }]) => {
        const operator = await call.client.operators.add({ username, public_key: publicKey, role });
        call.show(operator, () => toLines([`${username} is ${operator.role} from now on.`]));
      }),
    );
  operators
    .command("remove <operator>")
    .description("end somebody's access, by username or operator_id")
    .action(
      run(async (call, text: string) => {
        const { items } = await call.client.operators.list({ limit: 500 });
        const operator = items.find(({ operator_id, username }) => operator_id === text || username === text);
        if (!operator) throw new UsageError(`There is no operator ${JSON.stringify(text)}.`);
        await call.client.operators.remove(operator.operator_id);
        call.show(null, () => toLines([`${operator.username} is removed.`]));
      }),
    );
}

const columns: readonly Column<Operator>[] = [
  ["OPERATOR", ({ operator_id }) => operator_id],
  ["USERNAME", ({ username }) => username],
  ["ROLE", ({ role }) => role],
  ["ADDED", ({ added_at }) => added_at],
  ["LAST SEEN", ({ last_seen_at }) => last_seen_at],
];
