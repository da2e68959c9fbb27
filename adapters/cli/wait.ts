/** Waiting for what a machine does. */
import { setTimeout as pause } from "node:timers/promises";
import type { DriftDetail, Operation, OperationDetail, Rollout, RolloutDetail } from "fleetwright";
import { isPassing } from "../client/retry.ts";
import type { CommandCall } from "./call.ts";
import { exitCode } from "./context.ts";
import type { ExitCode } from "./context.ts";
import { countOf, mayChange } from "./show-results.ts";

/** How long the server is asked to wait with its answer. What begins something is answered at once: else an id would be lost with it. */
export const longestWaitSeconds = 30;

/** The first time a rollout is asked for: what it waits for is soon known. */
const firstWaitSeconds = 2;

/** Between two questions about something that takes longer. */
const pollMs = 500;

/** Who waits: what is used of a call. */
type Waiter = Pick<CommandCall, "client" | "tellAway" | "tellNotice">;

/** Reads something again and again until it has ended. A server that is away is waited for, and told of once: what it began goes on without it. */
async function awaitEndOf<Thing extends { status: string }>(
  waiter: Waiter,
  read: () => Promise<Thing>,
  goesOn: (thing: Thing) => boolean,
): Promise<Thing> {
  for (let isAway = false; ;) {
    const thing = await read().catch((error: unknown) => {
      if (!isPassing(error)) throw error;
      if (!isAway) waiter.tellAway(error);
      isAway = true;
      return null;
    });
    if (thing) isAway = false;
    if (thing && !goesOn(thing)) return thing;
    await pause(pollMs);
  }
}

/** Waits until an operation has ended; every operation ends. Reads it once where nobody waits. */
export async function awaitOperation(
  waiter: Waiter,
  operationId: string,
  waits: boolean,
): Promise<OperationDetail> {
  const read = (): Promise<OperationDetail> => waiter.client.operations.get(operationId);
  return waits ? awaitEndOf(waiter, read, isOpen) : read();
}

/** The same for a rollout. It is without its agents then. */
export async function awaitRollout(
  waiter: Waiter,
  begun: RolloutDetail,
  waits: boolean,
): Promise<RolloutDetail> {
  return waits && isUnfinished(begun) ? awaitEnd(waiter, begun.rollout_id) : begun;
}

/**
 * Waits until a rollout, or a run, has ended: the server says when. It is without its agents. Whoever waits is told once of agents that
 * a maintenance window holds, which may take for hours.
 */
export async function awaitEnd(waiter: Waiter, rolloutId: string): Promise<RolloutDetail> {
  let wait_seconds = firstWaitSeconds;
  let saysHeld = false;
  const read = async (): Promise<RolloutDetail> => {
    const rollout = await waiter.client.rollouts.get(rolloutId, { show_agents: 0, wait_seconds });
    wait_seconds = longestWaitSeconds;
    if (rollout.held !== undefined && isUnfinished(rollout) && !saysHeld) {
      waiter.tellNotice(`Waiting for ${describeHeld(rollout.held)}.`);
      saysHeld = true;
    }
    return rollout;
  };
  return awaitEndOf(waiter, read, isUnfinished);
}

/** How many agents of a rollout wait for a window to end. */
export function describeHeld(held: number): string {
  return `${countOf(held, "agent")} held by a maintenance window`;
}

/** The same for a drift check. */
export async function awaitDrift(waiter: Waiter, check: DriftDetail): Promise<DriftDetail> {
  return isOpen(check) ? awaitEndOf(waiter, () => waiter.client.drift.get(check.drift_id), isOpen) : check;
}

/** What the outcome of operations means for whoever called the command. */
export function exitCodeOf(operations: readonly Operation[]): ExitCode {
  if (operations.some(isOpen)) return exitCode.unfinished;
  if (operations.some(({ status }) => status !== "succeeded")) return exitCode.failure;
  const differs = operations.some(({ kind, counts }) => kind === "plan" && mayChange(counts));
  return differs ? exitCode.differs : exitCode.ok;
}

/** Whether a plan tells what an apply would do; one that failed somewhere tells the rest. */
export function isTold({ status, error }: Operation): boolean {
  return error === undefined && (status === "succeeded" || status === "partial" || status === "failed");
}

/** Whether a rollout has not ended. */
export function isUnfinished({ status }: Pick<Rollout, "status">): boolean {
  return status === "running" || status === "paused" || status === "stopping";
}

function isOpen({ status }: { status: string }): boolean {
  return status === "queued" || status === "running";
}
