/** What the status is made of: each check by its name, and what a reader is told where it fails. */
import type { TakenSlots } from "../agents/pending-slots.ts";
import type { Presence } from "../agents/presence.ts";
import type { Context } from "../context.ts";
import { isOrchestratorError } from "../errors.ts";
import type { Status } from "./schemas.ts";

/** One thing that works or does not. */
export type Check = NonNullable<Status["checks"]>[number];

/** An agent that takes no commands, with the code of what it refused last. */
export interface RefusingAgent {
  node_id: string;
  code: string;
}

const logFaults: Readonly<Record<string, string>> = {
  ENOSPC: "its disk is full",
  EDQUOT: "its quota is used up",
  EIO: "its disk reports errors",
  EAGAIN: "whoever reads it has stopped",
  EPIPE: "whoever read it is gone",
};

const pausedDetail =
  "Paused after restore: nothing happens by itself until `fleetwright resume`, which lists what would.";

/** How many agents are named. */
const namedAgents = 3;

/** Whether changes can be written. */
export async function checkStorage({ storage }: Context): Promise<Check> {
  try {
    await storage.check();
    return ok("storage");
  } catch (error) {
    return failed("storage", isOrchestratorError(error) ? `${error.code}: ${error.message}` : "failed");
  }
}

/** Whether the lines of the log are written. */
export function checkLog({ logger }: Context): Check {
  const fault = logger.fault?.() ?? null;
  if (fault === null) return ok("log");
  const reason = logFaults[fault];
  return failed(
    "log",
    `Lines of the log are lost: ${reason === undefined ? fault : `${reason} (${fault})`}.`,
  );
}

/** Whether samples of time series are kept. */
export function checkSeries({ storage }: Context): Check {
  const fault = storage.series?.fault?.() ?? null;
  return fault === null ? ok("time_series") : failed("time_series", `Samples are not kept: ${fault}.`);
}

/** Whether the wall clock goes on as time passes. */
export function checkClock({ fleetTime, retentionClock }: Context): Check {
  const aheadMs = fleetTime.wallAheadMs();
  if (aheadMs !== 0) {
    const [seconds, way] = [Math.round(Math.abs(aheadMs) / 1000), aheadMs > 0 ? "ahead" : "back"];
    return failed(
      "clock",
      `The clock was set ${way} by ${seconds} seconds, or the machine was suspended. Schedules and timestamps go by it. It is believed after an hour.`,
    );
  }
  if (!retentionClock.isHeld) return ok("clock");
  return failed(
    "clock",
    "The clock is more than a day ahead of the time that has passed for certain: nothing is removed for its age until it was so for a day.",
  );
}

/** Where the server waits after a restore, or agents follow another one; else nothing. */
export function checkEpoch({ epochs }: Context): Check[] {
  const { isPaused, supersededBy, current } = epochs;
  const details = isPaused ? [pausedDetail] : [];
  if (supersededBy !== null) {
    const { nodeId, number } = supersededBy;
    details.push(
      `Superseded: agent ${nodeId} follows a newer server of epoch ${number}; this one is of epoch ${current?.number}.`,
    );
  }
  return details.length === 0 ? [] : [failed("restore", details.join(" "))];
}

/** Whether the agents that are connected take commands. */
export function checkAgents(presence: Presence, refusing: readonly RefusingAgent[]): Check {
  const connected = refusing.filter(({ node_id }) => presence.isConnected(node_id));
  if (connected.length === 0) return ok("agents");
  const named = connected.slice(0, namedAgents).map(({ node_id, code }) => `${node_id} (${code})`);
  const more = connected.length - named.length;
  const list = more === 0 ? named.join(", ") : `${named.join(", ")} and ${more} more`;
  return failed("agents", `Refuse every command: ${list}.`);
}

/** Whether an agent that is not known finds a slot to wait for approval. */
export function checkEnrolment(taken: TakenSlots | null): Check {
  if (taken === null) return ok("enrolment");
  const { slots, network, count } = taken;
  return failed(
    "enrolment",
    `All ${slots} slots for agents that wait to be approved are taken, ${count} of them from ${network}. Approve them, or reject them with \`fleetwright agents reject-pending\`.`,
  );
}

function ok(name: string): Check {
  return { name, status: "ok" };
}

function failed(name: string, detail: string): Check {
  return { name, status: "failed", detail };
}
