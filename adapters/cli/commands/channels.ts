import { Option, type Command } from "commander";
import type { z } from "zod";
import type { Channel, Delivery, schemas } from "fleetwright";
import { ApiError } from "../../client/api-error.ts";
import { makeSure, sureOption } from "../ask.ts";
import type { SureOptions } from "../ask.ts";
import type { CommandCall, Run } from "../call.ts";
import { exitCode, type ExitCode } from "../context.ts";
import { UsageError } from "../failure.ts";
import { findListed, findNamed } from "../find-id.ts";
import { gather, gatherParam, limitOption, type ParamOptions } from "../options.ts";
import { readText } from "../read-text.ts";
import { idColumn, quote, timeColumn, toFacts, toLine, toLines } from "../text.ts";
import type { Column } from "../text.ts";

type Config = z.input<typeof schemas.createChannelInput>["config"];

/** How a channel is given. */
interface Given {
  name?: string;
  config?: string;
  set?: ParamOptions;
  event?: string[];
  minSeverity?: Channel["min_severity"];
  selector?: string;
  allAgents?: true;
  title?: string;
  body?: string;
  plainWords?: true;
  enable?: true;
  disable?: true;
}

const columns: readonly Column<Channel>[] = [
  ["ID", ({ id }) => id, idColumn],
  ["NAME", ({ name }) => name],
  ["TYPE", ({ type }) => type],
  ["TELLS", ({ events, min_severity }) => `${events.join(", ")} from ${min_severity}`],
  ["ENABLED", ({ enabled }) => (enabled ? "yes" : "no")],
  ["LAST DELIVERY", lastOf, timeColumn],
];

const deliveryColumns: readonly Column<Delivery>[] = [
  ["ID", ({ id }) => id, idColumn],
  ["TIME", ({ created_at }) => created_at, timeColumn],
  ["STATUS", ({ status }) => status],
  ["ATTEMPTS", ({ attempts }) => attempts],
  ["TITLE", ({ title }) => title],
  ["ERROR", ({ error }) => error ?? "-"],
];

/** `fleetwright channels ...` */
export function addChannelsCommands(program: Command, run: Run): void {
  const channels = program
    .command("channels")
    .alias("channel")
    .description("ways to tell people and programs elsewhere: webhooks, mail, chats");
  channels
    .command("list")
    .description("list channels")
    .option(...limitOption)
    .action(
      run((call, options: { limit?: number }) => call.showList(call.client.channels.list, options, columns)),
    );
  channels
    .command("show <channel>")
    .description("show a channel, by its id or name, without what is secret of it")
    .action(run(async (call, channel: string) => show(call, await findChannel(call, channel))));
  withFields(channels.command("create <name>").description("make a channel"))
    .requiredOption("--type <type>", "webhook, email, slack, discord, teams, ntfy, syslog")
    .option("--audit", "tell each event of the audit log in place of notifications")
    .action(
      run(async (call, name: string, { type, audit, ...given }: Given & { type: string; audit?: true }) => {
        const config = (await configOf(call, given)) ?? {};
        const { selector: _selector, template, ...fields } = fieldsOf(given);
        const rest = {
          ...(given.selector !== undefined && { selector: given.selector }),
          ...(template && { template }),
          ...(audit && { source: "audit" as const }),
        };
        const input = { ...fields, ...rest, name, type, config };
        show(call, await quoting(given, () => call.client.channels.create(input)));
      }),
    );
  withFields(channels.command("update <channel>").description("change a channel; what is not given stays"))
    .option("--name <name>", "another name")
    .option("--all-agents", "tell of all agents, and of what is about none")
    .option("--plain-words", "tell messages as they come, without words of its own")
    .option("--enable", "tell again")
    .action(
      run(async (call, channel: string, given: Given) => {
        const { id, config: before } = await findChannel(call, channel);
        const config = await configOf(call, given, before);
        const changes = { ...fieldsOf(given), ...(config && { config }) };
        show(call, await quoting(given, () => call.client.channels.update(id, changes)));
      }),
    );
  addTestAndRemove(channels, run);
  addDeliveries(channels, run);
}

function addTestAndRemove(channels: Command, run: Run): void {
  channels
    .command("test <channel>")
    .description("send a test message and say what came of it")
    .action(run(test));
  channels
    .command("remove <channel>")
    .description("remove a channel, and what waits to be delivered by it")
    .option(...sureOption)
    .action(
      run(async (call, channel: string, options: SureOptions) => {
        const { id, name } = await findChannel(call, channel);
        await makeSure(call, options, `Remove the channel ${name}, and what waits to be delivered by it`);
        await call.client.channels.remove(id);
        call.show(null, () => toLines([toLine(`${name} is removed.`)]));
      }),
    );
}

function addDeliveries(channels: Command, run: Run): void {
  channels
    .command("deliveries <channel>")
    .description("list the messages of a channel, newest first")
    .addOption(
      new Option("--status <status>", "only those that stand so").choices(["pending", "delivered", "dead"]),
    )
    .option(...limitOption)
    .action(
      run(async (call, channel: string, options: { status?: Delivery["status"]; limit?: number }) => {
        const { id } = await findChannel(call, channel);
        await call.showList((query) => call.client.channels.deliveries(id, query), options, deliveryColumns);
      }),
    );
  channels
    .command("redeliver <channel> <delivery>")
    .description("send a message once more")
    .action(
      run(async (call, channel: string, delivery: string) => {
        const { id } = await findChannel(call, channel);
        const list = (query: { limit: number; cursor?: string }) =>
          call.client.channels.deliveries(id, query);
        const delivery_id = await findListed("delivery", delivery, { list, aboutOf: ({ title }) => title });
        const waiting = await call.client.channels.redeliver(id, { delivery_id });
        call.show(waiting, () => toLines([toLine(`"${waiting.title}" waits to be delivered.`)]));
      }),
    );
}

function withFields(command: Command): Command {
  return command
    .option("--config <file>", "its config as JSON; - is standard input")
    .option(
      "--set <field=value>",
      "a field of its config, again for each; JSON where it is that",
      gatherParam,
    )
    .option("--event <type>", "what it tells, e.g. agent.offline or drift.*; default everything", gather)
    .addOption(
      new Option("--min-severity <severity>", "the least severity").choices(["info", "warning", "critical"]),
    )
    .option("--selector <selector>", "tell of these agents alone")
    .option("--title <words>", "words of its own for the titles, with {{ title }} in them")
    .option("--body <words>", "words of its own for what follows, with {{ body }} in them")
    .option("--disable", "tell nothing for now");
}

function fieldsOf(given: Given): {
  name?: string;
  events?: string[];
  min_severity?: Channel["min_severity"];
  selector?: string | null;
  template?: { title?: string; body?: string } | null;
  enabled?: boolean;
} {
  const { name, event, minSeverity, selector, allAgents, title, body, plainWords, enable, disable } = given;
  const words = { ...(title !== undefined && { title }), ...(body !== undefined && { body }) };
  if (enable && disable) throw new UsageError("--enable and --disable do not go together.");
  return {
    ...(name !== undefined && { name }),
    ...(event && { events: event }),
    ...(minSeverity !== undefined && { min_severity: minSeverity }),
    ...(selector !== undefined && { selector }),
    ...(allAgents && { selector: null }),
    ...(Object.keys(words).length > 0 && { template: words }),
    ...(plainWords && { template: null }),
    ...((enable ?? disable) && { enabled: enable === true }),
  };
}

/** The config that was given, in the place of or upon the one there is; null where none was. */
async function configOf(
  { context }: CommandCall,
  { config: file, set = {} }: Given,
  before: Config = {},
): Promise<Config | null> {
  if (file === undefined && Object.keys(set).length === 0) return null;
  const base = file === undefined ? before : readConfig(await readText(context, file));
  return { ...base, ...set };
}

/** Where a field is refused that was read as something else than text, says how to give it as text. */
async function quoting<Result>({ set = {} }: Given, send: () => Promise<Result>): Promise<Result> {
  try {
    return await send();
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    const { problem } = error;
    const errors = problem.errors?.map((fault) => {
      const field = /^\/config\/([^/]+)$/.exec(fault.pointer)?.[1];
      if (field === undefined || !(field in set) || !/^This must be (a )?text, not /.test(fault.message))
        return fault;
      const quoted = quote(`${field}="TEXT"`);
      return { ...fault, message: `${fault.message} Text that reads as JSON is quoted: --set ${quoted}` };
    });
    throw new ApiError({ ...problem, ...(errors && { errors }) }, error.cause, error.retryAfterMs);
  }
}

function readConfig(text: string): Config {
  try {
    const read = JSON.parse(text) as unknown;
    if (typeof read === "object" && read !== null && !Array.isArray(read)) return read as Config;
  } catch {
    // Said below, without the text: there are secrets in it.
  }
  throw new UsageError("The config is no JSON object.");
}

async function test(call: CommandCall, channel: string): Promise<ExitCode> {
  const { id, name } = await findChannel(call, channel);
  const outcome = await call.client.channels.test(id);
  const { delivered, error, duration_ms } = outcome;
  const text = delivered
    ? `delivered in ${duration_ms} ms`
    : `not delivered: ${error ?? "no reason is known"}`;
  call.show(outcome, () => toLines([toLine(`${name}: ${text}.`)]));
  return delivered ? exitCode.ok : exitCode.failure;
}

/** A channel by its id, or by a name that one alone has. */
async function findChannel({ client }: CommandCall, wanted: string): Promise<Channel> {
  if (/^[0-9a-f]{8}-[0-9a-f-]{27}$/.test(wanted)) return client.channels.get(wanted);
  return findNamed("channel", wanted, client.channels.list);
}

function lastOf({ last_delivery }: Channel): string {
  if (!last_delivery) return "-";
  return last_delivery.delivered ? last_delivery.at : `failed: ${last_delivery.error ?? "?"}`;
}

function show(call: CommandCall, channel: Channel): void {
  call.show(channel, () =>
    toFacts([
      ["Id", channel.id],
      ["Name", channel.name],
      ["Type", channel.type],
      ...Object.entries(channel.config).map(([field, value]): [string, string] => [
        field,
        typeof value === "string" ? value : JSON.stringify(value),
      ]),
      ["Tells", `${channel.events.join(", ")} from ${channel.min_severity}`],
      ["Source", channel.source === "audit" ? toldOf(channel.forwarded_sequence) : "notifications"],
      ["Agents", channel.selector ?? "all"],
      ...Object.entries(channel.template ?? {}).map(([part, words = ""]): [string, string] => [
        `Words of ${part}`,
        words,
      ]),
      ["Enabled", channel.enabled ? "yes" : "no"],
      ["Last delivery", lastOf(channel)],
    ]),
  );
}

/** An answer to who makes it has no place yet. */
function toldOf(sequence: number | undefined): string {
  return sequence === undefined ? "audit log, from now on" : `audit log, told up to ${sequence}`;
}
