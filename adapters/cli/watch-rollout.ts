/** Following a rollout to its end, as it happens. */
import type { OrchestratorEvent, RolloutDetail } from "fleetwright";
import { isPassing } from "../client/retry.ts";
import type { CommandCall } from "./call.ts";
import type { ExitCode } from "./context.ts";
import { whileGoingOn } from "./going-on.ts";
import { showRollout } from "./run-assignment.ts";
import { showRun } from "./run-command.ts";
import { toLine, toLines } from "./text.ts";
import { isUnfinished } from "./wait.ts";

/** Of so many agents each is told of as it ends; of more only those that failed, and how far it is. */
const mostTold = 50;
/** Between two looks at how far it is, milliseconds. */
const lookMs = 1_000;

/**
 * Shows how a rollout goes on until it has ended, then what it came to. A server that is away is waited for: its events are kept, and nothing
 * between is missed.
 */
export function watchRollout(call: CommandCall, rolloutId: string): Promise<ExitCode> {
  return whileGoingOn(call, { kind: "rollout", id: rolloutId }, () => watch(call, rolloutId));
}

async function watch(call: CommandCall, rolloutId: string): Promise<ExitCode> {
  const { client } = call;
  const read = (): Promise<RolloutDetail> => client.rollouts.get(rolloutId, { show_agents: 0 });
  const live = new LiveRollout(call);
  let rollout = await read();
  if (!isUnfinished(rollout)) return tellEnd(call, rollout);
  let lookedAt = Date.now();
  // Whether something is in no event: what ended before the stream was open, and what it says was missed.
  let isMissed = true;
  const types = ["rollout.*", "operation.*"] as const;
  for await (const item of client.events.stream({ rollout_id: rolloutId, types })) {
    const isTold = item.type === "event";
    if (isTold) live.tell(item.event, rollout);
    // Of a stream that was opened anew, behind which comes what happened meanwhile.
    if (item.type === "position" && !isMissed) continue;
    const isOfRollout = isTold && item.event.event_type.startsWith("rollout.");
    if (isTold && !isOfRollout && Date.now() - lookedAt < lookMs) continue;
    // Behind the end of its operations, each of which is told.
    const isLast = !isTold || item.event.event_type === "rollout.finished";
    isMissed ||= isLast;
    try {
      rollout = await read();
      isMissed = false;
    } catch (error) {
      // Gone again: the stream is opened anew, and tells what came in between.
      if (!isPassing(error)) throw error;
    }
    lookedAt = Date.now();
    if (isUnfinished(rollout)) live.stands(rollout);
    else if (isLast) break;
  }
  return tellEnd(call, rollout);
}

/** Lines about a rollout that goes on, on standard error: what it came to is the result. */
class LiveRollout {
  readonly #say: (line: string) => void;
  #standing = "";

  constructor({ context, options }: CommandCall) {
    this.#say = (line) => {
      if (options.json !== true) context.stderr(toLines([toLine(line)]));
    };
  }

  /** How far it is, where that was not said last. */
  stands({ assignment, command, status, batch, batches, counts }: RolloutDetail): void {
    const told = Object.entries(counts).filter(([, count]) => count > 0);
    const agents = told.map(([name, count]) => `${count} ${name.replace("_", " ")}`).join(", ");
    const standing = `${assignment ?? command}: ${status}, batch ${batch} of ${batches}: ${agents}`;
    if (standing !== this.#standing) this.#say(standing);
    this.#standing = standing;
  }

  tell({ event_type, summary }: OrchestratorEvent, { matched }: RolloutDetail): void {
    const isEnd = event_type === "operation.failed" || event_type === "operation.finished";
    if (event_type === "operation.failed" || (isEnd && matched <= mostTold)) this.#say(`  ${summary}`);
  }
}

function tellEnd(call: CommandCall, rollout: RolloutDetail): Promise<ExitCode> {
  return rollout.kind === "run" ? showRun(call, rollout.rollout_id) : showRollout(call, rollout);
}
