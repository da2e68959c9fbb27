/** A command on many machines, from the words on the command line to what the machines said. */
import type { RunDetail, RunGroup } from "fleetwright";
import type { Input } from "../client/inputs.ts";
import { askerOf, confirm, firstLines } from "./ask.ts";
import { collect } from "./call.ts";
import type { CommandCall } from "./call.ts";
import { exitCode } from "./context.ts";
import type { ExitCode } from "./context.ts";
import { UsageError } from "./failure.ts";
import { findAgents } from "./find-agents.ts";
import { findRollout } from "./find-id.ts";
import { tellLost } from "./going-on.ts";
import { asOnTerminal } from "./live-progress.ts";
import { readText } from "./read-text.ts";
import { toStrategy } from "./rollout-options.ts";
import type { StrategyOptions } from "./rollout-options.ts";
import { countOf } from "./show-results.ts";
import { toLine, toLines, toSafeText } from "./text.ts";
import { awaitEnd, describeHeld, isUnfinished } from "./wait.ts";

/** Options of `fleetwright run`. */
export interface CommandRunOptions extends StrategyOptions {
  on?: string;
  agent?: string[];
  script?: string;
  interpreter?: string;
  user?: string;
  cwd?: string;
  env?: Record<string, string>;
  timeout?: number;
  yes?: boolean;
  overrideWindow?: true;
  wait: boolean;
}

/** Agents that a call may name. */
const mostNamed = 10_000;
/** Names of agents that a group shows. */
const shownAgents = 5;

type StartInput = Input<"startRunInput">;

/** Runs it; a stop on the way ends it on the machines, too. */
export async function runCommand(
  call: CommandCall,
  words: readonly string[],
  options: CommandRunOptions,
): Promise<ExitCode> {
  const what = await toWhat(call, words, options);
  const input = { ...(await toWhere(call, options)), ...what };
  const rollout = toStrategy(options);
  const request = {
    ...input,
    ...(options.user !== undefined && { user: options.user }),
    ...(options.cwd !== undefined && { cwd: options.cwd }),
    ...(options.env && { environment: options.env }),
    ...(options.timeout !== undefined && { timeout_seconds: options.timeout }),
    ...(rollout && { rollout }),
    ...(options.overrideWindow && { override_window: true }),
    wait_seconds: 0,
  };
  const start = (noRetry?: AbortSignal): Promise<RunDetail> => call.client.runs.start(request, { noRetry });
  return tell(call, await (options.wait ? follow(call, start) : start()));
}

/** Shows a run as it is now. */
export async function showRun(call: CommandCall, runId: string): Promise<ExitCode> {
  return tell(call, await call.client.runs.get(await findRollout(call.client, runId, "run")));
}

async function toWhere(
  call: CommandCall,
  { on, agent, yes }: CommandRunOptions,
): Promise<Pick<StartInput, "selector" | "node_ids">> {
  if ((on === undefined) === (agent === undefined)) throw new UsageError("Give --on or --agent.");
  if (on !== undefined) return agree(call, on, yes);
  const { found, failed } = await findAgents(call, { names: agent ?? [] }, () => true);
  if (failed[0]) throw failed[0].error;
  return { node_ids: found.map(({ node_id }) => node_id) };
}

/** Asks somebody at a terminal where it is about more than one agent; a yes is for those that were told. */
async function agree(
  call: CommandCall,
  selector: string,
  yes: boolean | undefined,
): Promise<Pick<StartInput, "selector" | "node_ids">> {
  const ask = askerOf(call, yes);
  if (!ask) return { selector };
  const query = { selector, status: "approved" as const, limit: Infinity };
  const { items } = await collect(call.client.agents.list, query);
  if (items.length < 2) return { selector };
  await confirm(ask, {
    told: firstLines(items.map(({ name, hostname }) => toLine(`  ${name ?? hostname}`))),
    question: `Run it on ${countOf(items.length, "agent")}?`,
    otherwise: "Nothing was run.",
  });
  return items.length > mostNamed ? { selector } : { node_ids: items.map(({ node_id }) => node_id) };
}

async function toWhat(
  { context }: CommandCall,
  words: readonly string[],
  { script, interpreter }: CommandRunOptions,
): Promise<Pick<StartInput, "command" | "script" | "interpreter">> {
  if (words.length > 0 === (script !== undefined))
    throw new UsageError("Give a command after --, or --script.");
  if (script !== undefined)
    return {
      script: await readText(context, script),
      ...(interpreter !== undefined && { interpreter: interpreter.split(" ").filter((word) => word !== "") }),
    };
  const [only = "", ...more] = words;
  return { command: more.length === 0 ? only : [...words] };
}

/**
 * Starts it and waits for its end. A stop ends it on the machines; where the server has not said yet what was begun, that is waited for, and
 * what could not be sent is not sent again.
 */
async function follow(
  call: CommandCall,
  start: (noRetry: AbortSignal) => Promise<RunDetail>,
): Promise<RunDetail> {
  const done = new AbortController();
  const stop = new AbortController();
  // Before it is sent: a signal that ended the process would leave it running, and nobody would know its id.
  const asked = call.context.untilStopped(done.signal).then(() => stop.abort());
  let stopped = asked;
  try {
    const begun = await start(stop.signal);
    stopped = asked.then(() => cancel(call, begun, done.signal));
    return isUnfinished(begun) ? await endOf(call, begun) : begun;
  } finally {
    done.abort();
    await stopped;
  }
}

/** Ends it on the machines, unless it is over. */
async function cancel(call: CommandCall, { rollout_id }: RunDetail, over: AbortSignal): Promise<void> {
  if (over.aborted) return;
  call.context.stderr("Ending it on the machines.\n");
  await call.client.runs.cancel(rollout_id).catch((error: unknown) => {
    // At once: it may go on for long, and who has typed Ctrl-C counts on its end.
    const about = `The run goes on; \`fleetwright rollouts cancel ${rollout_id}\` ends it`;
    if (!over.aborted) call.tellFailure(error, about);
  });
}

async function endOf(call: CommandCall, { rollout_id }: RunDetail): Promise<RunDetail> {
  try {
    // Without its agents: what every one of them said is asked for once.
    await awaitEnd(call, rollout_id);
    return await call.client.runs.get(rollout_id);
  } catch (error) {
    tellLost(call, { kind: "rollout", id: rollout_id }, error);
    throw error;
  }
}

function tell(call: CommandCall, run: RunDetail): ExitCode {
  call.show(run, () => describeRun(run));
  if (isUnfinished(run)) return exitCode.unfinished;
  return run.status === "succeeded" ? exitCode.ok : exitCode.failure;
}

function describeRun(run: RunDetail): string {
  const { groups, ungrouped, matched, counts, reason, rollout_id, status } = run;
  const rest = ungrouped > 0 ? [`${countOf(ungrouped, "agent")} ended in other ways still.`] : [];
  const held = run.held === undefined ? "" : ` (${describeHeld(run.held)})`;
  const left = matched - groups.reduce((sum, { count }) => sum + count, ungrouped);
  const waiting =
    left > 0 ? [`${countOf(left, "agent")}: ${isUnfinished(run) ? `not ended${held}` : "not begun"}`] : [];
  return toLines([
    ...groups.flatMap(describeGroup),
    ...rest,
    ...waiting,
    ...(reason === undefined ? [] : [toLine(reason)]),
    `run ${rollout_id}: ${status}, ${counts["succeeded"] ?? 0} of ${countOf(matched, "agent")} succeeded`,
  ]);
}

function describeGroup(group: RunGroup): string[] {
  const { count, agents, status, error, output } = group;
  const names = agents.slice(0, shownAgents).map(({ name }) => toLine(name));
  const more = count > names.length ? ` and ${count - names.length} more` : "";
  const same = count > 1 ? `${count} the same: ` : "";
  const why = error ? `: ${error.code}: ${error.message}` : "";
  return [
    `${same}${names.join(", ")}${more}: ${toLine(`${status}${why}`)}`,
    ...output.flatMap(describeOutput),
  ];
}

function describeOutput({ stream, text, truncated }: RunGroup["output"][number]): string[] {
  const mark = stream === "stdout" ? "|" : "!";
  const lines = text === "" ? [] : text.replace(/\n$/, "").split("\n").map(asOnTerminal);
  const cut = truncated ? [`  ${mark} (more is not shown)`] : [];
  return [...lines.map((line) => `  ${mark} ${toSafeText(line)}`), ...cut];
}
