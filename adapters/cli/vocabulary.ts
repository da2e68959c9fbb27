/**
 * What arguments and values of options name, by the words that the help has for them, such as `<agent>`. Completion reads it, and a test
 * looks whether every argument and every value of the command line is in it.
 */
import type { Input } from "../client/inputs.ts";

/** What there are names of: things on the server, and what lies on this machine. */
export type NameSource =
  | "agents"
  | "assignments"
  | "channels"
  | "enrolment tokens"
  | "modules"
  | "operations"
  | "operators"
  | "rollouts"
  | "secrets"
  | "terminals"
  | "thresholds"
  | "windows"
  | "profiles"
  | "files"
  | "folders";

/** A source of names, the values that there are, or null where nobody can know what comes. */
export type Meaning = NameSource | readonly string[] | null;

/** What a word of the help means in every command that is not named in {@link inCommands}. */
const everywhere: Readonly<Record<string, Meaning>> = {
  agent: "agents",
  channel: "channels",
  operation: "operations",
  operator: "operators",
  profile: "profiles",
  rollout: "rollouts",
  run: "rollouts",
  session: "terminals",
  threshold: "thresholds",
  window: "windows",
  file: "files",
  path: "files",
  folder: "folders",
  directory: "folders",
  role: ["Viewer", "Operator", "Admin"],
  shell: ["bash", "zsh", "fish"],
  ...nothing(
    "category cron delivery duration event factor field=value group hex id key key=value label metric",
  ),
  ...nothing(
    "minutes n n|n% n% name name=value network number port public-key resource seconds selector series",
  ),
  ...nothing("address attribute command keys names networks"),
  ...nothing("tag target text time token type url username value version words zone days status kind order"),
};

/** What the words and options of one command mean, where that is not the same everywhere. An option stands for its value. */
const inCommands: Readonly<Record<string, Readonly<Record<string, Meaning>>>> = {
  "agents list": {
    "--status": oneOf<Input<"listAgentsInput">["status"]>("pending", "approved", "rejected"),
    "--module": "modules",
    "--last-apply": oneOf<Input<"listAgentsInput">["last_apply"]>(
      ...(["succeeded", "failed", "partial", "cancelled", "timed_out", "interrupted", "unknown"] as const),
      "unsuccessful",
    ),
    "--drift": oneOf<Input<"listAgentsInput">["drift"]>("in_sync", "drifted", "failed"),
  },
  "agents replace": { old: "agents", new: "agents" },
  alarms: { "--threshold": "thresholds" },
  apply: { "--plan": "operations", "--module": "modules", "--remove-module": "modules" },
  "assignments apply": { name: "assignments", "--order": rolloutOrders() },
  "assignments create": { "--module": "modules", "--order": rolloutOrders() },
  "assignments plan": { name: "assignments" },
  "assignments remove": { name: "assignments" },
  "assignments show": { name: "assignments" },
  "assignments update": { name: "assignments", "--module": "modules", "--order": rolloutOrders() },
  "audit list": { "--order": oneOf<Input<"listAuditInput">["order"]>("desc", "asc") },
  "channels create": { "--type": ["webhook", "email", "slack", "discord", "teams", "ntfy", "syslog"] },
  drift: { "--status": oneOf<Input<"listAgentsInput">["drift"]>("in_sync", "drifted", "failed") },
  "enrol revoke": { id: "enrolment tokens" },
  "enrol show": { id: "enrolment tokens" },
  "modules remove": { name: "modules" },
  "modules show": { name: "modules" },
  "operations list": {
    "--assignment": "assignments",
    "--kind": oneOf<Input<"listOperationsInput">["kind"]>("plan", "apply", "forget", "run"),
    "--status": operationStatuses(),
  },
  plan: { "--module": "modules", "--remove-module": "modules" },
  "rollouts agents": { "--status": [...operationStatuses(), "waiting", "stale"] },
  "rollouts list": { "--assignment": "assignments", "--status": rolloutStatuses() },
  run: { "--order": rolloutOrders() },
  "secrets remove": { name: "secrets" },
  "secrets set": { name: "secrets", "--node": "agents" },
  "secrets show": { name: "secrets" },
  "terminal list": {
    "--status": oneOf<Input<"listTerminalsInput">["status"]>("active", "closed", "interrupted"),
  },
};

/** Agents that a command is for, where these are not all; others are typed. */
export const statusesOfAgents: Readonly<Record<string, readonly Input<"listAgentsInput">["status"][]>> = {
  "agents approve": ["pending", "rejected"],
  apply: ["approved"],
  drift: ["approved"],
  plan: ["approved"],
  run: ["approved"],
  "terminal open": ["approved"],
};

/**
 * What a word means where a command takes it; undefined where nobody has said so.
 *
 * @param command - Without the name of the program, e.g. `agents list`.
 * @param word - As the help has it, without brackets, e.g. `agent`.
 * @param option - The option that it is the value of, e.g. `--plan`.
 */
export function meaningOf(command: string, word: string, option?: string): Meaning | undefined {
  const own = inCommands[command]?.[option ?? word];
  return own === undefined ? everywhere[word] : own;
}

/** Every command that the vocabulary names, with what it says of it. */
export function namedCommands(): [command: string, words: string[]][] {
  return Object.entries(inCommands).map(([command, words]) => [command, Object.keys(words)]);
}

function nothing(words: string): Record<string, null> {
  return Object.fromEntries(words.split(" ").map((word) => [word, null]));
}

/** Values that the server takes; whether it takes one is for the server to say. */
function oneOf<Value extends string | undefined>(...values: NonNullable<Value>[]): readonly string[] {
  return values;
}

function operationStatuses(): readonly string[] {
  return oneOf<Input<"listOperationsInput">["status"]>(
    ...(["queued", "running", "succeeded", "failed", "partial", "cancelled"] as const),
    ...(["timed_out", "interrupted", "unknown"] as const),
  );
}

function rolloutStatuses(): readonly string[] {
  return oneOf<Input<"listRolloutsInput">["status"]>(
    ...(["running", "paused", "stopping", "succeeded", "partial", "failed", "cancelled"] as const),
  );
}

function rolloutOrders(): readonly string[] {
  return ["name", "node_id", "shuffled"];
}
