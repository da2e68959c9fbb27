/** Waiting for what a machine does. */
import { setTimeout as pause } from "node:timers/promises";
import type { DriftDetail, Operation, OperationDetail, Rollout, RolloutDetail } from "fleetwright";
import type { Client } from "../client/client.ts";
import { exitCode } from "./context.ts";
import type { ExitCode } from "./context.ts";
import { mayChange } from "./show-results.ts";

/** How long the server is asked to wait with its answer. */
export const firstWaitSeconds = 30;

/** Between two questions about something that takes longer than {@link firstWaitSeconds}. */
const pollMs = 500;

/** Reads an operation again and again until it has ended; every operation ends. Once only where nobody waits. */
export async function awaitOperation(
  client: Client,
  operationId: string,
  waits: boolean,
): Promise<OperationDetail> {
  for (;;) {
    const operation = await client.operations.get(operationId);
    if (!waits || !isOpen(operation)) return operation;
    await pause(pollMs);
  }
}

/** The same for a rollout. It is without its agents then. */
export async function awaitRollout(
  client: Client,
  begun: RolloutDetail,
  waits: boolean,
): Promise<RolloutDetail> {
  return waits && isUnfinished(begun) ? awaitEnd(client, begun.rollout_id) : begun;
}

/** Waits until a rollout, or a run, has ended: the server says when. It is without its agents. */
export async function awaitEnd(client: Client, rolloutId: string): Promise<RolloutDetail> {
  for (;;) {
    const how = { show_agents: 0, wait_seconds: firstWaitSeconds };
    const rollout = await client.rollouts.get(rolloutId, how);
    if (!isUnfinished(rollout)) return rollout;
    // A server that ends answers at once.
    await pause(pollMs);
  }
}

/** The same for a drift check. */
export async function awaitDrift(client: Client, check: DriftDetail): Promise<DriftDetail> {
  let drift = check;
  while (isOpen(drift)) {
    await pause(pollMs);
    drift = await client.drift.get(drift.drift_id);
  }
  return drift;
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
