/** Holds what a server says of its operations against the lines that the machines have. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { OperationDetail } from "fleetwright";
import { ApiError, type Client } from "fleetwright/client";
import type { TrialAgent, TrialFleet } from "./trial-fleet.ts";
import type { TrialLoad } from "./trial-load.ts";

/** What was found; each list names what is wrong. */
export interface Verdict {
  /** Operations that the server knows at the end. */
  operations: number;
  /** How many ended how, and with which error. */
  statuses: Record<string, number>;
  doubled: string[];
  lost: string[];
  open: string[];
  untrue: string[];
  unknown: string[];
}

/** What operations say of the lines of one agent. */
interface Claims {
  /** Number -> how often it was run, as operations say. */
  proven: Map<string, number>;
  /** Numbers of operations of which nobody can tell whether they ran. */
  maybe: Set<string>;
  /** The same for those whose number is not known. */
  maybeUnnamed: number;
}

const ended = new Set(["succeeded", "failed", "partial", "cancelled", "timed_out", "interrupted"]);

/** What has not ended, or is not known: operations, checks and rollouts, each with its status. */
export async function unfinished({
  client,
  agents,
}: TrialFleet): Promise<{ open: string[]; unknown: string[] }> {
  const open: string[] = [];
  for (const status of ["queued", "running"] as const)
    for (const { operation_id, kind } of await everything((page) =>
      client.operations.list({ status, limit: 500, ...page }),
    ))
      open.push(`${kind} ${operation_id} ${status}`);
  for (const status of ["running", "paused", "stopping"] as const)
    for (const { rollout_id } of await everything((page) =>
      client.rollouts.list({ status, limit: 500, ...page }),
    ))
      open.push(`rollout ${rollout_id} ${status}`);
  for (const { nodeId } of agents)
    for (const { drift_id, status } of await everything((page) =>
      client.drift.list(nodeId, { limit: 500, ...page }),
    ))
      if (status === "running") open.push(`check ${drift_id} ${status}`);
  const unknown = await everything((page) =>
    client.operations.list({ status: "unknown", limit: 500, ...page }),
  );
  return { open, unknown: unknown.map(({ operation_id }) => operation_id) };
}

/** Judges a fleet in which everything was given the time to end. */
export async function judge(fleet: TrialFleet, load: TrialLoad): Promise<Verdict> {
  const { client } = fleet;
  const items = await everything((page) => client.operations.list({ limit: 500, ...page }));
  const byId = new Map(items.map((item) => [item.operation_id, item]));
  const statuses: Record<string, number> = {};
  for (const { status, error } of items) {
    const how = error ? `${status} ${error.code}` : status;
    statuses[how] = (statuses[how] ?? 0) + 1;
  }
  const verdict: Verdict = {
    operations: items.length,
    statuses,
    doubled: [],
    lost: [],
    untrue: [],
    ...(await unfinished(fleet)),
  };
  for (const { operationId, number } of load.requests)
    if (operationId !== undefined && !byId.has(operationId) && !load.forgotten.has(number))
      verdict.lost.push(`${number}: operation ${operationId}`);
  const rollouts = await everything((page) => client.rollouts.list({ limit: 500, ...page }));
  const known = new Set(rollouts.map(({ rollout_id }) => rollout_id));
  for (const id of load.rollouts)
    if (!known.has(id) && !load.forgotten.has(id)) verdict.lost.push(`rollout ${id}`);

  const numberOf = new Map(load.requests.map(({ operationId, number }) => [operationId, number]));
  for (const agent of fleet.agents) {
    const claims: Claims = { proven: new Map(), maybe: new Set(), maybeUnnamed: 0 };
    for (const { node_id, operation_id, kind } of items) {
      if (node_id !== agent.nodeId || kind !== "apply") continue;
      const operation = await client.operations.get(operation_id);
      if (!ended.has(operation.status)) continue;
      await addClaims(client, { operation, number: numberOf.get(operation_id), claims, verdict });
    }
    judgeLines(agent, { load, claims, verdict });
  }
  return verdict;
}

/** What one operation says that it ran. */
async function addClaims(
  client: Client,
  {
    operation,
    number,
    claims,
    verdict,
  }: { operation: OperationDetail; number: string | undefined; claims: Claims; verdict: Verdict },
): Promise<void> {
  const { operation_id, node_id, status, resources, error } = operation;
  const told = await client.operations.output(node_id, { operation_id });
  for (const name of operation.modules.map((module) => module.name)) {
    const id = name === "counted" ? "count" : "roll";
    const result = resources.find(({ module, resource_id }) => module === name && resource_id === id);
    // What an agent was killed in has the results so far, and none of the output.
    if (result?.outcome === "changed" && status === "interrupted") {
      if (name === "counted" && number !== undefined) claims.proven.set(number, 1);
      else claims.maybeUnnamed += 1;
    } else if (result?.outcome === "changed") {
      const ran = told.output
        .find(({ module, stream }) => module === name && stream === "stdout")
        ?.text.trim();
      if (ran === undefined || ran === "" || (name === "counted" && number !== undefined && ran !== number))
        verdict.untrue.push(`${operation_id} (${number}) tells that it ran "${ran}"`);
      claims.proven.set(ran ?? "", (claims.proven.get(ran ?? "") ?? 0) + 1);
    } else if (
      result?.outcome === "failed" ||
      error?.code === "RESULT_GONE" ||
      (status === "interrupted" && !result)
    ) {
      if (name === "counted" && number !== undefined) claims.maybe.add(number);
      else claims.maybeUnnamed += 1;
    } else if (status === "succeeded" && (name === "counted" || !result))
      verdict.untrue.push(`${operation_id} (${number}) succeeded without ${id}`);
  }
}

/** Holds the lines of one agent against what is said of them. */
function judgeLines(
  agent: TrialAgent,
  { load, claims, verdict }: { load: TrialLoad; claims: Claims; verdict: Verdict },
): void {
  const lines = linesOf(agent);
  const name = agent.nodeId.slice(0, 6);
  let unexplained = 0;
  for (const { number, nodeId, operationId, kind } of load.requests) {
    const count = lines.get(number) ?? 0;
    if (count > 1) verdict.doubled.push(`${number} on ${name}: ${count} lines`);
    const proven = claims.proven.get(number) ?? 0;
    const mayBe = claims.maybe.has(number) || load.forgotten.has(number);
    if (nodeId !== agent.nodeId || kind === "plan") {
      if (count > 0) verdict.untrue.push(`${number} left a line on ${name}`);
    } else if (count < proven || (count > proven && !mayBe && operationId !== undefined))
      verdict.untrue.push(`${number} on ${name}: ${count} lines, ${proven} proven`);
    else if (count > proven && !mayBe) unexplained += 1;
  }
  for (const [number, count] of lines) {
    if (!number.startsWith("r")) continue;
    const proven = claims.proven.get(number) ?? 0;
    if (count < proven) verdict.untrue.push(`${number} on ${name}: ${count} lines, ${proven} proven`);
    else if (!load.forgotten.has(number)) unexplained += count - proven;
  }
  for (const [number] of claims.proven)
    if (!lines.has(number)) verdict.untrue.push(`${number} left no line on ${name}`);
  if (unexplained > claims.maybeUnnamed)
    verdict.untrue.push(
      `${unexplained} lines on ${name} that no operation tells of, of ${claims.maybeUnnamed} that may be`,
    );
}

/** Line -> how often the machine has it. */
function linesOf({ process: { root } }: TrialAgent): Map<string, number> {
  const file = join(root, "runs");
  const lines = new Map<string, number>();
  if (!existsSync(file)) return lines;
  for (const line of readFileSync(file, "utf8").trim().split("\n"))
    lines.set(line, (lines.get(line) ?? 0) + 1);
  return lines;
}

/** Calls until it is answered: a server that has just started, or a disk that was full, takes a moment. */
export async function answered<Result>(call: () => Promise<Result>): Promise<Result> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await call();
    } catch (error) {
      if (!(error instanceof ApiError) || tries === 60) throw error;
      await new Promise((resolve) => setTimeout(resolve, 500));
    }
  }
}

async function everything<Item>(
  page: (cursor: { cursor?: string }) => Promise<{ items: Item[]; next_cursor: string | null }>,
): Promise<Item[]> {
  const items: Item[] = [];
  for (let cursor: string | null | undefined; cursor !== null;) {
    const next = await page(cursor === undefined ? {} : { cursor });
    items.push(...next.items);
    cursor = next.next_cursor;
  }
  return items;
}
