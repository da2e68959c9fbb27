import { Option, type Command } from "commander";
import type { Secret } from "fleetwright";
import { ApiError } from "../../client/api-error.ts";
import { makeSure, sureOption } from "../ask.ts";
import type { SureOptions } from "../ask.ts";
import type { CommandCall, Run } from "../call.ts";
import { exitCode, type ExitCode } from "../context.ts";
import { parseEnvFile, type EnvEntry } from "../env-file.ts";
import { describeFailure, UsageError } from "../failure.ts";
import { withSuggestion } from "../find-id.ts";
import { limitOption } from "../options.ts";
import { readText } from "../read-text.ts";
import { countOf } from "../show-results.ts";
import { timeColumn, toFacts, toLines } from "../text.ts";
import type { Column } from "../text.ts";

/** How a secret is given. */
interface SetOptions {
  file?: string;
  base64?: true;
  description?: string;
  selector?: string;
  node?: string[];
  unrestricted?: true;
  expires?: string;
}

const columns: Column<Secret>[] = [
  ["NAME", ({ name }) => name],
  ["VALUE", ({ value_version }) => `version ${value_version}`],
  ["FOR", restrictionOf],
  ["EXPIRES", ({ expires_at }) => expires_at ?? "-", timeColumn],
  ["USED BY", ({ used_by }) => used_by.join(", ") || "-"],
];

/** `fleetwright secrets ...` */
export function addSecretsCommands(program: Command, run: Run): void {
  const secrets = program
    .command("secrets")
    .alias("secret")
    .description("values that modules use and nobody reads back");
  secrets
    .command("list")
    .description("list secrets, without their values")
    .option(...limitOption)
    .action(
      run((call, options: { limit?: number }) => call.showList(call.client.secrets.list, options, columns)),
    );
  secrets
    .command("show <name>")
    .description("show what is known of a secret, without its value")
    .action(
      run(async (call, name: string) => {
        show(call, await withSuggestion(call, { secret: name }, () => call.client.secrets.get(name)));
      }),
    );
  addSet(secrets, run);
  secrets
    .command("import")
    .description("set a secret for each line NAME=value of a file")
    .requiredOption("--from-env-file <file>", "the file; - is standard input")
    .option("--prefix <text>", "what each name begins with", "")
    .action(run(importFile));
  secrets
    .command("remove <name>")
    .description("remove a secret that no module uses, with all its values")
    .option(...sureOption)
    .action(
      run(async (call, name: string, options: SureOptions) => {
        await makeSure(call, options, `Remove the secret ${name} with all its values`);
        await withSuggestion(call, { secret: name }, () => call.client.secrets.remove(name));
        call.show(null, () => toLines([`${name} is removed.`]));
      }),
    );
  secrets
    .command("rotate-key")
    .description("encrypt all secrets with another key; again after a break, it goes on")
    .action(
      run(async (call) => {
        const rotated = await call.client.secrets.rotateKey();
        const text = `${countOf(rotated.rewrapped, "value")} ${rotated.rewrapped === 1 ? "was" : "were"} encrypted anew, with the key ${rotated.key_id}.`;
        call.show(rotated, () => toLines([text]));
      }),
    );
}

function addSet(secrets: Command, run: Run): void {
  secrets
    .command("set <name>")
    .description("create a secret, or change it; the value comes from standard input, or from a file")
    .option(
      "--file <file>",
      "what holds the value, as it is; default standard input, without a line end at its end",
    )
    .option("--base64", "the value is base64")
    .option("--description <text>", "what it is for")
    .option("--selector <selector>", "agents that may get it")
    .option("--node <id...>", "agents that may get it, by node_id")
    .addOption(new Option("--unrestricted", "every agent may get it").conflicts(["selector", "node"]))
    .option("--expires <time>", "from when on it is given to no agent; never: it does not expire")
    .action(run(set));
}

async function set(call: CommandCall, name: string, options: SetOptions): Promise<void> {
  const text =
    options.file === undefined ? await call.context.readInput() : await readText(call.context, options.file);
  const value = options.file === undefined || options.base64 ? text.replace(/\r?\n$/, "") : text;
  if (value === "") throw new UsageError("The value is empty. It comes from standard input, or from --file.");
  const { selector, node: node_ids, description, expires } = options;
  const isRestricted = selector !== undefined || node_ids !== undefined;
  const restriction = { ...(selector !== undefined && { selector }), ...(node_ids && { node_ids }) };
  const given = {
    value,
    ...(options.base64 && { encoding: "base64" as const }),
    ...(description !== undefined && { description }),
    ...(isRestricted && { restriction }),
  };
  const changes = {
    ...given,
    ...(options.unrestricted && { restriction: null }),
    ...(expires !== undefined && { expires_at: expires === "never" ? null : expires }),
  };
  const created = { ...given, ...(expires !== undefined && expires !== "never" && { expires_at: expires }) };
  show(call, await setOne(call, name, { changes, created }));
}

type Created = Omit<Parameters<CommandCall["client"]["secrets"]["create"]>[0], "name">;
type Changes = NonNullable<Parameters<CommandCall["client"]["secrets"]["update"]>[1]>;

/** Changes a secret, or creates it where there is none. */
async function setOne(
  { client }: CommandCall,
  name: string,
  { changes, created }: { changes: Changes; created: Created },
): Promise<Secret> {
  try {
    return await client.secrets.update(name, changes);
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== "NOT_FOUND") throw error;
    return client.secrets.create({ name, ...created });
  }
}

async function importFile(
  call: CommandCall,
  { fromEnvFile, prefix }: { fromEnvFile: string; prefix: string },
): Promise<ExitCode> {
  const entries = parseEnvFile(await readText(call.context, fromEnvFile));
  const named = entries.map(({ name, ...entry }): EnvEntry => ({ ...entry, name: prefix + toName(name) }));
  const twice = named.find(({ name }, at) => named.findIndex((other) => other.name === name) < at);
  if (twice) throw new UsageError(`Line ${twice.line}: there are two values for ${twice.name}.`);
  // Before any is set: what the server would refuse halfway.
  for (const entry of named) requireSettable(entry);
  const all: Secret[] = [];
  const showAll = (): void =>
    call.show(all, () => toLines(all.map(({ name, value_version }) => `${name}: version ${value_version}`)));
  for (const { name, value, line } of named) {
    try {
      all.push(await setOne(call, name, { changes: { value }, created: { value } }));
    } catch (error) {
      // Those before it are kept, whatever became of this one.
      if (all.length > 0) showAll();
      call.tellFailure(error, `Line ${line}, ${name}`);
      return describeFailure(error).code;
    }
  }
  showAll();
  return exitCode.ok;
}

/** Refuses, by its line, what can be no secret. */
function requireSettable({ name, value, line }: EnvEntry): void {
  const bytes = Buffer.byteLength(value);
  if (bytes < 1 || bytes > 65_536)
    throw new UsageError(`Line ${line}: the value has ${bytes} bytes; 1 to 65536 can be kept.`);
  if (!/^[a-z0-9][a-z0-9._-]{0,63}$/.test(name))
    throw new UsageError(
      `Line ${line}: its name as a secret begins with a letter or digit, and has 64 characters at most of a-z, 0-9, ".", "_" and "-".`,
    );
}

/** The name of a variable as one of a secret: `DB_PASSWORD` is `db-password`. */
function toName(variable: string): string {
  return variable.toLowerCase().replaceAll("_", "-").replace(/^-+/, "");
}

function show(call: CommandCall, secret: Secret): void {
  call.show(secret, () =>
    toFacts([
      ["Name", secret.name],
      ...(secret.description === undefined ? [] : [["Description", secret.description] as [string, string]]),
      ["Value", `version ${secret.value_version}`],
      ["For", restrictionOf(secret)],
      ["Expires", secret.expires_at ?? "never"],
      ["Used by", secret.used_by.join(", ") || "nothing"],
      ["Updated", `${secret.updated_at} by ${secret.updated_by}`],
    ]),
  );
}

function restrictionOf({ restriction }: Secret): string {
  if (!restriction) return "every agent";
  const { selector, node_ids = [] } = restriction;
  return [...(selector === undefined ? [] : [selector]), ...node_ids].join(", ");
}
