/**
 * One job in the crontab of a user. Owns the lines between its two marks, never the others; it needs the program `crontab`.
 *
 * The command is a line for the shell that cron starts, and other users can read it in the list of processes: a secret
 * belongs in a file that the command reads.
 *
 * @example
 * ```yaml
 * - { type: cron, name: backup, user: root, hour: 3, minute: 15, command: /usr/local/bin/backup }
 * - { type: cron, name: cache, special: "@reboot", command: /usr/local/bin/warm-cache }
 * ```
 */
import { z } from "zod";
import { isOrchestratorError, OrchestratorError } from "../../errors.ts";
import type { Host, HostCommand } from "../../host/host.ts";
import type { JsonObject } from "../../json.ts";
import { defineResourceType, type Prior } from "../resource-type.ts";
import type { Change } from "../result.ts";
import { act, ask, attempt, commandFailed, type Machine } from "./shared/command.ts";
import { describeChange } from "./shared/describe.ts";
import {
  insertMarked,
  isAllOurs,
  isLast,
  lineOfMarks,
  readMarked,
  requirePair,
  writeMarked,
} from "./shared/marked-lines.ts";
import { missing } from "./shared/obstacle.ts";
import { accountSchema, ensureSchema, sha256Schema } from "./shared/properties.ts";
import { fileChanges } from "./shared/text-file.ts";

/** A field of the schedule, as cron writes it; a number may be given as one. */
const fieldOf = (smallest: number, largest: number): z.ZodUnion<[z.ZodNumber, z.ZodString]> =>
  z.union([
    z.number().int().min(smallest).max(largest),
    z.string().regex(/^[0-9A-Za-z*][0-9A-Za-z*,/~-]{0,100}$/, "must be a field of a crontab"),
  ]);

const oneLine = z.string().regex(/^[^\n\r\0]*$/, "must be one line");

const properties = z.strictObject({
  /** Names the job in the crontab. */
  name: z
    .string()
    .regex(/^[A-Za-z0-9_][A-Za-z0-9_. -]{0,99}$/, "must be letters, digits, spaces, dots, dashes"),
  ensure: ensureSchema.default("present"),
  /** Whose crontab. Default: the agent's user. */
  user: accountSchema.optional(),
  /** As a crontab has it: `%` is a line break there, and `\%` a percent sign. */
  command: oneLine.min(1).max(900).optional(),
  minute: fieldOf(0, 59).optional(),
  hour: fieldOf(0, 23).optional(),
  day_of_month: fieldOf(1, 31).optional(),
  month: fieldOf(1, 12).optional(),
  day_of_week: fieldOf(0, 7).optional(),
  /** In place of the five fields. */
  special: z.enum(["@reboot", "@hourly", "@daily", "@weekly", "@monthly", "@yearly"]).optional(),
  /** Variables of this job alone. */
  environment: z.record(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/), oneLine.max(1000)).optional(),
});

const fields = ["minute", "hour", "day_of_month", "month", "day_of_week"] as const;

export const cronSchema = properties
  .refine((spec) => spec.ensure === "absent" || spec.command !== undefined, {
    path: ["command"],
    message: "is required",
  })
  .refine((spec) => spec.special === undefined || fields.every((name) => spec[name] === undefined), {
    path: ["special"],
    message: "can't be given beside minute, hour, day_of_month, month or day_of_week",
  })
  .refine(
    (spec) =>
      spec.ensure === "absent" ||
      spec.special !== undefined ||
      fields.some((name) => spec[name] !== undefined),
    { path: ["minute"], message: 'give one of the five fields, or special; every minute is minute: "*"' },
  );

const cronPriorSchema = properties.extend({
  /** The text between the marks, as it stood. */
  lines: z.string().optional(),
  /** There was no crontab before this job: it goes when nothing is left in it. */
  remove_empty: z.boolean().optional(),
  /** The crontab ended without a line break. */
  bare_end: z.boolean().optional(),
  /** Where the marks stood: the line, from 0, and the digest of the crontab without them. */
  place: z.strictObject({ line: z.number().int(), amid: sha256Schema }).optional(),
});

/** Properties of a `cron`, and those of a captured one. */
export type CronSpec = z.infer<typeof cronPriorSchema>;

export const cronResourceType = defineResourceType<CronSpec>({
  type: "cron",
  summary: "A job in the crontab of a user.",
  schema: cronSchema,
  checksWithPrograms: true,
  identity: (spec) => identityOf(spec.name, spec.user),
  identityHere({ name, user }, host) {
    const uid = user === undefined ? host.ownProcess?.().uid : /^\d+$/.test(user) ? Number(user) : undefined;
    return identityOf(name, (uid === undefined ? null : host.users.userName(uid)) ?? user);
  },
  async check(spec, host, signal) {
    const found = await find(spec, { host, signal });
    if (found === "no user") return [];
    const { text } = found;
    const changes = compare(spec, readMarked(text ?? "", spec.name));
    return changes.length > 0 ? changes : fileChanges(spec, text, edit(spec, text ?? "", host));
  },
  apply,
  async capture(spec, host, signal): Promise<Prior> {
    const text = await read(spec, { host, signal });
    const lines = readMarked(text ?? "", spec.name);
    const prior: JsonObject = { name: spec.name, ensure: lines === null ? "absent" : "present" };
    if (spec.user !== undefined) prior["user"] = spec.user;
    if (lines !== null) prior["lines"] = lines;
    if (text === null || isAllOurs(text)) prior["remove_empty"] = true;
    if (text !== null && text !== "" && !text.endsWith("\n")) prior["bare_end"] = true;
    const place = text === null ? null : positionOf(text, spec.name, host);
    if (place) prior["place"] = place;
    return { type: "cron", spec: prior };
  },
  describe: describeChange,
  planning: {
    // A crontab is known to its program alone.
    foresee() {},
    // Who is new has no crontab.
    assumedChanges: (spec) => compare(spec, null),
  },
  removing: { priorSchema: cronPriorSchema },
});

const identityOf = (name: string, user: string | undefined): string =>
  user === undefined ? name : `${user}: ${name}`;

/** What differs, given the text between the marks. */
function compare(spec: CronSpec, before: string | null): Change[] {
  const after = wanted(spec);
  if (before === after) return [];
  const changes: Change[] = [];
  if (before === null || after === null)
    changes.push({ property: "ensure", before: printed(before), after: printed(after) });
  if (after !== null)
    changes.push({ property: "entry", before: before?.trimEnd() ?? null, after: after.trimEnd() });
  return changes;
}

async function apply(
  spec: CronSpec,
  _changes: readonly Change[],
  host: Host,
  signal: AbortSignal,
): Promise<void> {
  const machine = { host, signal };
  const text = (await read(spec, machine)) ?? "";
  const edited = edit(spec, text, host);
  if (edited === "" && spec.remove_empty === true) return void (await act(crontab(spec, "-r"), machine));
  // Most kinds of cron take no crontab without a line break at its end, as little as it means.
  if (spec.bare_end === true && edited.endsWith("\n") && isLast(text, spec.name)) {
    const bare = edited.slice(0, -1);
    const { exitCode } = await attempt({ ...crontab(spec, "-"), stdin: bare }, machine, [0, 1]);
    if (exitCode === 0) return;
  }
  // Through standard input: cron checks it, and replaces the old one at once or not at all.
  await act({ ...crontab(spec, "-"), stdin: edited }, machine);
}

/** Where the marks of a job stand, for a job that is to come back there; null = it has none. */
function positionOf(text: string, name: string, host: Host): JsonObject | null {
  const line = lineOfMarks(text, name);
  return line === null ? null : { line, amid: digest(writeMarked(text, name, null), host) };
}

/** The crontab as it is to be. A job goes back to where it stood only where nobody has changed the rest. */
function edit(spec: CronSpec, text: string, host: Host): string {
  const { name, place } = spec;
  const after = wanted(spec);
  const rest = writeMarked(text, name, null);
  const isInPlace = place !== undefined && after !== null && digest(rest, host) === place.amid;
  return isInPlace
    ? insertMarked(rest, name, { content: after, line: place.line })
    : writeMarked(text, name, after);
}

const digest = (text: string, host: Host): string => host.sha256(Buffer.from(text));

/** The text between the marks; null = none. */
function wanted(spec: CronSpec): string | null {
  if (spec.lines !== undefined) return spec.lines;
  if (spec.ensure === "absent" || spec.command === undefined) return null;
  const schedule = spec.special ?? fields.map((name) => spec[name] ?? defaultOf(spec, name)).join(" ");
  return `${schedule} ${exported(spec.environment ?? {})}${spec.command}\n`;
}

/** Fields below the smallest that is given are 0, so that "hour: 3" is once a day; those above it are every one. */
function defaultOf(spec: CronSpec, name: (typeof fields)[number]): string {
  if (name !== "minute" && name !== "hour") return "*";
  const smallest = fields.findIndex((each) => spec[each] !== undefined);
  return fields.indexOf(name) < smallest ? "0" : "*";
}

/** A crontab's own variables would hold for the jobs of others below it too. */
function exported(environment: Readonly<Record<string, string>>): string {
  const quote = (value: string): string => `'${value.replaceAll("'", `'\\''`).replaceAll("%", "\\%")}'`;
  const pairs = Object.entries(environment).map(([name, value]) => `${name}=${quote(value)}`);
  return pairs.length === 0 ? "" : `export ${pairs.join(" ")}; `;
}

/** The crontab. Who is gone has no job that could be taken away, and none comes back to him. */
async function find(spec: CronSpec, machine: Machine): Promise<{ text: string | null } | "no user"> {
  try {
    return { text: await read(spec, machine) };
  } catch (error) {
    const isGone = isOrchestratorError(error, "HOST_ERROR") && error.details["missing"] === true;
    if (isGone && (spec.ensure === "absent" || spec.lines !== undefined)) return "no user";
    throw error;
  }
}

/** The crontab; null where the user has none. Any other failure is an error: else it would be taken for an empty one. */
async function read(spec: CronSpec, machine: Machine): Promise<string | null> {
  const { user } = spec;
  // The program answers for the machine as it is, also where an earlier resource will have taken the user away.
  if (user !== undefined && !/^\d+$/.test(user) && machine.host.users.userId(user) === null)
    throw missing(`There is no user "${user}".`, { user });
  const command = crontab(spec, "-l");
  const result = await ask(command, machine, [0, 1]);
  if (result.exitCode === 0) return requireReadable(result.stdout, spec);
  // Vixie's cron and its kin; BusyBox.
  if (/^(crontab: )?no crontab for |^crontab: can't open '[^']+': No such file/m.test(result.stderr))
    return null;
  throw commandFailed(command, result);
}

/** What could not be read as UTF-8 would be written back as something else, and with it the lines of others. */
function requireReadable(text: string, { user, name }: CronSpec): string {
  const whose = user === undefined ? "the agent's user" : user;
  requirePair(text, name, `the crontab of ${whose}`);
  if (!text.includes("\uFFFD")) return text;
  const message = `The crontab of ${whose} is not UTF-8 text, and is left alone.`;
  throw new OrchestratorError("HOST_ERROR", { message, details: { user: user ?? null } });
}

/** A user who is not root may not say whose crontab, not even his own. */
function crontab(spec: CronSpec, option: string): HostCommand {
  return { argv: ["crontab", ...(spec.user === undefined ? [] : ["-u", spec.user]), option] };
}

const printed = (lines: string | null): string => (lines === null ? "absent" : "present");
