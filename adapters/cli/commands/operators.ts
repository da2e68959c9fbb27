import { Option } from "commander";
import type { Command } from "commander";
import type { Operator, Role } from "fleetwright";
import { readPublicLine } from "../../client/ssh-key.ts";
import { makeSure, sureOption } from "../ask.ts";
import type { SureOptions } from "../ask.ts";
import type { CommandCall, Run } from "../call.ts";
import { UsageError } from "../failure.ts";
import { ambiguous, didYouMean, each, notFound } from "../find-id.ts";
import { limitOption } from "../options.ts";
import { idColumn, timeColumn, toFacts, toLines } from "../text.ts";
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
    .description(
      "let somebody sign in with a key: hex, base64, or the line of an OpenSSH .pub file in quotes",
    )
    .addOption(new Option("--role <role>", "what they may do").choices(roles).default("Operator"))
    .action(
      run(async (call, ...[username, publicKey, { role }]: [string, string, { role: Role }]) => {
        const public_key = toPublicKey(publicKey);
        const operator = await call.client.operators.add({ username, public_key, role });
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
    .option(...sureOption)
    .action(
      run(async (call, text: string, options: SureOptions) => {
        const operator = await findOperator(call, text);
        await makeSure(call, options, `Remove the operator ${operator.username}`);
        await call.client.operators.remove(operator.operator_id);
        call.show(null, () => toLines([`${operator.username} is removed.`]));
      }),
    );
}

/** As of other ids. */
const leastPrefix = 4;

async function findOperator({ client }: CommandCall, text: string): Promise<Operator> {
  if (/^[0-9a-f]{32}$/.test(text)) return client.operators.get(text);
  const names: string[] = [];
  const alike: Operator[] = [];
  for await (const operator of each(client.operators.list)) {
    if (operator.username === text) return operator;
    names.push(operator.username);
    if (text.length >= leastPrefix && operator.operator_id.startsWith(text.toLowerCase()))
      alike.push(operator);
  }
  const [only, second] = alike;
  if (second)
    throw ambiguous(
      "operator",
      text,
      alike.map(({ operator_id, username }) => ({ id: operator_id, about: username })),
    );
  if (only) return only;
  throw notFound(`There is no operator ${JSON.stringify(text)}.${didYouMean(text, names)}`);
}

function toTitle(name: string): string {
  return name.charAt(0) + name.slice(1).toLowerCase();
}

const columns: readonly Column<Operator>[] = [
  ["OPERATOR", ({ operator_id }) => operator_id, idColumn],
  ["USERNAME", ({ username }) => username],
  ["ROLE", ({ role }) => role],
  ["ADDED", ({ added_at }) => added_at, timeColumn],
  ["LAST SIGN-IN", ({ last_seen_at }) => last_seen_at, timeColumn],
];

/** The key of what was typed. Whether hex and base64 are one is for the server to say; what can be none is not sent to it. */
function toPublicKey(text: string): string {
  // Not even in an error of the server.
  if (text.includes("PRIVATE KEY")) throw new UsageError("That is a private key: give its public half.");
  const [, type] = /^((?:sk-)?(?:ssh|ecdsa)-\S+)\s/.exec(text.trim()) ?? [];
  // The comment of a key may end as the name of its file does.
  if (type === undefined && text.endsWith(".pub"))
    throw new UsageError(`The key is wanted, and not the name of its file: "$(cat ${text})".`);
  const key = readPublicLine(text);
  if (type === undefined || key !== null) return key ?? text;
  throw new UsageError(
    type === "ssh-ed25519"
      ? "The line of the key is cut off, or damaged."
      : `It must be an Ed25519 key, and is ${type}: \`ssh-keygen -t ed25519\` and \`fleetwright init\` make one.`,
  );
}
