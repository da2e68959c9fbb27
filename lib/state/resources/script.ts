/**
 * A script or program. Owns nothing: `check` or `creates` says whether it has done its work, or a trigger runs it.
 *
 * A `check` runs during a plan and a drift check too, so it must only look. The text of a script goes to its interpreter
 * through standard input, never on a command line that other users can read; its own standard input is empty.
 *
 * @example
 * ```yaml
 * - { id: swap, type: script, run: "fallocate -l 1G /swap && mkswap /swap", creates: /swap, undo: "rm /swap" }
 * ```
 */
import { z } from "zod";
import { isOrchestratorError, OrchestratorError } from "../../errors.ts";
import type { Host, HostCommand, HostCommandResult } from "../../host/host.ts";
import type { JsonObject } from "../../json.ts";
import { defineResourceType } from "../resource-type.ts";
import type { Change } from "../result.ts";
import { interpret } from "./script/interpreter.ts";
import { accountSchema, argvSchema, pathSchema } from "./shared/properties.ts";

const text = z.string().min(1).max(262_144);
const program = z.union([text, argvSchema]);

const properties = z.strictObject({
  /** The text for the interpreter, or a program with its arguments. */
  run: program,
  /** Exits with 0 where the work is done already. */
  check: program.optional(),
  /** A path that stands where the work is done already. */
  creates: pathSchema.optional(),
  /** What takes the work back when the resource is removed; needs `check` or `creates`. Without it nothing is taken back. */
  undo: program.optional(),
  /** Reads the text from standard input. Default: ["/bin/sh", "-eu"]. */
  interpreter: argvSchema.optional(),
  /** Default: the agent's user. */
  user: accountSchema.optional(),
  /** Default: the root folder of the host. */
  cwd: pathSchema.optional(),
  /** Permission bits that what it makes does not get, such as "0027". Default: "0022", whatever those of the agent are. */
  umask: z
    .string()
    .regex(/^0?[0-7]{3}$/, 'must be octal in quotes, like "0027"')
    .optional(),
  /** Beside PATH, HOME and LANG. The place for secrets. */
  environment: z.record(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/), z.string().max(131_072)).optional(),
});

export const scriptSchema = properties.refine(
  (spec) => spec.undo === undefined || spec.check !== undefined || spec.creates !== undefined,
  { path: ["undo"], message: "needs check or creates, to know whether there is something to undo" },
);

const scriptPriorSchema = properties.extend({
  /** Its work is done where `check` and `creates` do not hold: it takes back what another did. */
  inverse: z.boolean().optional(),
});

/** Properties of a `script`, and those of a captured one. */
export type ScriptSpec = z.infer<typeof scriptPriorSchema>;

type Program = z.infer<typeof program>;

export const scriptResourceType = defineResourceType<ScriptSpec>({
  type: "script",
  summary: "A script or program that runs where its work is not done, or when something changed.",
  schema: scriptSchema,
  checksWithPrograms: true,
  endsOnCancel: true,
  identity: () => null,
  paths: (spec) => (spec.creates === undefined ? [] : [spec.creates]),
  check,
  apply: (spec, _changes, host, signal) => runScript(spec, host, signal),
  capture(spec) {
    if (spec.undo === undefined) return null;
    const { run: _run, undo, ...rest } = spec;
    return { type: "script", spec: { ...(rest as JsonObject), run: undo, inverse: true } };
  },
  describe: (change) => (change.property === "run" ? "run it" : `${change.property} changes`),
  action: () => "run",
  planning: {
    async foresee(spec, _changes, host, signal) {
      await runScript(spec, host, signal);
      // All that is known of what a script does: when it has undone its work, what it is known by is gone.
      if (spec.inverse === true && spec.check === undefined && spec.creates !== undefined)
        host.files.removeAll(spec.creates);
    },
    unknownAfterApply: () => "/",
    restsOn: (spec) => (spec.check === undefined ? [] : ["/"]),
    assumedChanges: () => [notDone],
  },
  triggering: {
    triggers: ["run"],
    fire: ({ spec }, host, signal) => runScript(spec, host, signal),
    faultWithout: (spec) =>
      spec.check === undefined && spec.creates === undefined
        ? "A script needs check, creates or run_on, or it would run every time."
        : null,
  },
  removing: {
    priorSchema: scriptPriorSchema,
    capturesFrom: "spec",
    keepsSpec: ({ undo }) => undo !== undefined,
  },
});

async function check(spec: ScriptSpec, host: Host, signal: AbortSignal): Promise<Change[]> {
  if (spec.check === undefined && spec.creates === undefined) return [];
  const stands = spec.creates === undefined || host.files.stat(spec.creates) !== null;
  const done =
    stands &&
    (spec.check === undefined ||
      (await start(spec, spec.check, { host, signal, asks: true })).exitCode === 0);
  return done === (spec.inverse !== true) ? [] : [notDone];
}

const notDone: Change = { property: "run", before: "not done", after: "done" };

/**
 * Runs the script, whether its work is done or not.
 *
 * @throws {OrchestratorError} `COMMAND_FAILED`; `HOST_ERROR`; what the signal was aborted with, and how the script ended for it.
 */
export async function runScript(
  spec: ScriptSpec,
  host: Pick<Host, "run">,
  signal: AbortSignal,
): Promise<void> {
  const { exitCode, signal: killedBy } = await start(spec, spec.run, { host, signal });
  if (signal.aborted) throw endedFor(signal.reason, { exitCode, killedBy });
  if (exitCode === 0) return;
  throw new OrchestratorError("COMMAND_FAILED", {
    message: exitCode === null ? `It was ended by ${killedBy}.` : `It exited with ${exitCode}.`,
    details: { exit_code: exitCode, signal: killedBy },
  });
}

/** Why it was ended, and by what: SIGTERM, which it may heed as it likes, or SIGKILL after that. */
function endedFor(
  reason: unknown,
  { exitCode, killedBy }: { exitCode: number | null; killedBy: string | null },
): unknown {
  if (!isOrchestratorError(reason)) return reason;
  const how =
    killedBy === "SIGKILL"
      ? "SIGKILL ended it, 5 s after SIGTERM"
      : exitCode === null
        ? `${killedBy} ended it`
        : `it exited with ${exitCode} after SIGTERM`;
  return new OrchestratorError(reason.code, {
    message: `${reason.message.replace(/\.$/, "")}: ${how}.`,
    details: { ...reason.details, exit_code: exitCode, signal: killedBy },
    cause: reason,
  });
}

function start(
  spec: ScriptSpec,
  what: Program,
  { host, signal, asks = false }: { host: Pick<Host, "run">; signal: AbortSignal; asks?: boolean },
): Promise<HostCommandResult> {
  const command: HostCommand =
    typeof what === "string"
      ? interpret(spec.interpreter ?? ["/bin/sh", "-eu"], what)
      : { argv: [what[0], ...what.slice(1)] };
  if (spec.cwd !== undefined) command.cwd = spec.cwd;
  if (spec.umask !== undefined) command.umask = Number.parseInt(spec.umask, 8);
  if (spec.environment !== undefined) command.environment = spec.environment;
  if (spec.user !== undefined) command.user = spec.user;
  if (asks) command.asks = true;
  signal.throwIfAborted();
  return host.run(command, signal);
}
