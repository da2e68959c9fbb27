import { Option } from "commander";
import type { Command } from "commander";
import type { Operator, Page, Role } from "fleetwright";
import type { CommandCall, Run } from "../call.ts";
import { UsageError } from "../failure.ts";
import { limitOption } from "../options.ts";
import { toFacts, toLines } from "../text.ts";
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
    .command("show <operator>")
    .description("show somebody, by username or operator_id")
    .action(
      run(async (call, text: string) => {
        const operator = await findOperator(call, text);
        call.show(operator, () =>
          toFacts(columns.map(([name, valueOf]) => [toTitle(name), valueOf(operator)])),
        );
      }),
    );
  operators
    .command("set-role <operator> <role>")
    .description(`give somebody another role: ${roles.join(", ")}; their sessions end`)
    .action(
      run(async (call, text: string, role: string) => {
        const { operator_id, username } = await findOperator(call, text);
        // Whether there is such a role is for the server to say.
        const operator = await call.client.operators.setRole(operator_id, { role: role as Role });
        call.show(operator, () => toLines([`${username} is ${operator.role} from now on.`]));
      }),
    );
  operators
    .command("remove <operator>")
    .description("end somebody's access, by username or operator_id")
    .action(
      run(async (call, text: string) => {
        const operator = await findOperator(call, text);
        await call.client.operators.remove(operator.operator_id);
        call.show(null, () => toLines([`${operator.username} is removed.`]));
      }),
    );
}

async function findOperator({ client }: CommandCall, text: string): Promise<Operator> {
  if (/^[0-9a-f]{32}$/.test(text)) return client.operators.get(text);
  for (let cursor: string | null | undefined; cursor !== null;) {
    const page: Page<Operator> = await client.operators.list({ limit: 500, cursor });
    const found = page.items.find(({ username }) => username === text);
    if (found) return found;
    cursor = page.next_cursor;
  }
  throw new UsageError(`There is no operator ${JSON.stringify(text)}.`);
}

function toTitle(name: string): string {
  return name.charAt(0) + name.slice(1).toLowerCase();
}

const columns: readonly Column<Operator>[] = [
  ["OPERATOR", ({ operator_id }) => operator_id],
  ["USERNAME", ({ username }) => username],
  ["ROLE", ({ role }) => role],
  ["ADDED", ({ added_at }) => added_at],
  ["LAST SEEN", ({ last_seen_at }) => last_seen_at],
];
