/** What must be true of a fleet that was healed, whatever happened before. */
import { systemCaller } from "../../lib/callers/caller.ts";
import type { OperationDocument } from "../../lib/operations/documents.ts";
import type { OperationDetail } from "../../lib/operations/schemas.ts";
import type { Orchestrator } from "../../lib/orchestrator.ts";
import { servicesOf } from "../../lib/orchestrator.ts";
import type { SimulatedAgent } from "./simulated-agent.ts";
import type { Simulation } from "./simulation.ts";

/** An operation as the orchestrator tells of it, and which work it was to do. */
interface Told {
  operation: OperationDetail;
  number: number;
  agent: SimulatedAgent;
}

/** What an agent itself must have told, for work that began. */
const toldByAgents = ["succeeded", "failed", "partial", "cancelled", "timed_out", "interrupted"];

/** Looks for everything that is wrong once all is healed. `watch.ts` looks for the rest, after each step. */
export async function findFaults(simulation: Simulation): Promise<string[]> {
  const orchestrator = simulation.orchestrator.current!;
  const operations = await readAll(simulation, orchestrator);
  const faults = operations.flatMap((told) => faultsOf(told).map((fault) => `${nameOf(told)} ${fault}`));
  for await (const { kind, operation_id, status } of servicesOf(orchestrator).operations.store.open())
    if (kind !== "check") faults.push(`${kind} ${operation_id} is ${status} at the end`);
  for (const [operationId, number] of simulation.answered) {
    const told = operations.find(({ operation }) => operation.operation_id === operationId);
    if (told?.number !== number) faults.push(`operation ${number} was answered and is not there`);
  }
  for (const agent of simulation.agents) {
    faults.push(...(await faultsOfAgent(agent, orchestrator, operations)));
  }
  const { valid } = await orchestrator.audit.verify(systemCaller);
  if (!valid) faults.push("the audit chain does not verify");
  faults.push(...(await doubleEnds(orchestrator, operations)));
  return faults;
}

async function readAll(simulation: Simulation, orchestrator: Orchestrator): Promise<Told[]> {
  const all: Told[] = [];
  let cursor: string | null = null;
  do {
    const page = await orchestrator.operations.list(systemCaller, {
      limit: 200,
      ...(cursor !== null && { cursor }),
    });
    for (const { operation_id } of page.items) {
      const operation = await orchestrator.operations.get(systemCaller, { operation_id });
      const agent = simulation.agents.find(({ nodeId }) => nodeId === operation.node_id)!;
      const document = (await servicesOf(orchestrator).operations.store.find(operation_id))!;
      all.push({ operation, number: await numberOf(orchestrator, document), agent });
    }
    cursor = page.next_cursor;
  } while (cursor !== null);
  return all;
}

/** The work that an operation was to do stands in its snapshot. */
async function numberOf(
  orchestrator: Orchestrator,
  { snapshot }: Readonly<OperationDocument>,
): Promise<number> {
  const resources = await servicesOf(orchestrator).operations.snapshot(snapshot);
  const mark = resources.find((resource) => resource.resource_id === "mark");
  return Number(mark?.spec["content"]);
}

function faultsOf({ operation, number, agent }: Told): string[] {
  const { kind, status, error, resources } = operation;
  const work = agent.machine.find(number);
  const outcomeOf = (id: string): string | undefined =>
    resources.find((resource) => resource.resource_id === id)?.outcome;
  const faults: string[] = [];
  if (kind === "plan" && work) faults.push("was a plan and did its work");
  if (work && !toldByAgents.includes(status)) faults.push(`did its work and is ${status}`);
  if (work && (error?.code === "AGENT_OFFLINE" || error?.code === "AGENT_TIMEOUT"))
    faults.push(`did its work and is said to have failed with ${error.code}`);
  if (work && (error?.code === "COMMAND_EXPIRED" || error?.code === "RESULT_GONE"))
    faults.push(`did its work and is said not to have: ${error.code}`);
  if (work && outcomeOf("mark") !== "changed") faults.push("did its work and lost its results");
  if (work && status !== "interrupted" && outcomeOf("work") === undefined)
    faults.push("did its work and lost the result of it");
  if (outcomeOf("work") === "changed" && work?.ended !== "done")
    faults.push(`tells of work that ended ${work?.ended}`);
  if (outcomeOf("work") === "failed" && work && work.ended === "done" && status !== "timed_out")
    faults.push("tells of a failure of work that was done");
  if (kind === "apply" && status === "succeeded") {
    if (!work) faults.push("succeeded and did no work");
    if (["mark", "work", "done"].some((id) => outcomeOf(id) !== "changed") || resources.length !== 5)
      faults.push("succeeded without its three changes");
  }
  return faults;
}

async function faultsOfAgent(
  agent: SimulatedAgent,
  orchestrator: Orchestrator,
  operations: readonly Told[],
): Promise<string[]> {
  const faults: string[] = [];
  const applies = operations
    .filter((told) => told.agent === agent && told.operation.kind === "apply")
    .toSorted((a, b) => b.number - a.number);
  const [newest] = applies;
  if (newest?.operation.status !== "succeeded")
    faults.push(`${agent.name} was healed and its last apply is ${newest?.operation.status}`);
  if (agent.machine.hasOldSetting) faults.push(`${agent.name} was healed and runs with an old setting`);
  const did = applies.find(
    ({ operation }) => operation.status === "succeeded" || operation.resources.length > 0,
  );
  const believed = await orchestrator.operations.believed(systemCaller, { node_id: agent.nodeId });
  if (believed.operation_id !== did?.operation.operation_id)
    faults.push(`of ${agent.name} another apply is believed than ${did?.number}`);
  return faults;
}

/** An operation ends once, and a second time only where nobody knew how it had ended. */
async function doubleEnds(orchestrator: Orchestrator, operations: readonly Told[]): Promise<string[]> {
  const ends = new Map<string, unknown[]>();
  for (const event_type of ["operation.finished", "operation.failed"] as const) {
    let cursor: string | null = null;
    do {
      const page = await orchestrator.audit.list(systemCaller, {
        event_type,
        limit: 200,
        ...(cursor !== null && { cursor }),
      });
      for (const event of page.items) {
        const id = event.target?.id ?? "";
        ends.set(id, [...(ends.get(id) ?? []), event.metadata["status"]]);
      }
      cursor = page.next_cursor;
    } while (cursor !== null);
  }
  return operations.flatMap((told) => {
    const statuses = ends.get(told.operation.operation_id) ?? [];
    const known = statuses.filter((status) => status !== "unknown");
    const isRight = known.length <= 1 && statuses.length - known.length <= 1 && statuses.length >= 1;
    return isRight ? [] : [`${nameOf(told)} ended as ${statuses.join(", ") || "nobody was told"}`];
  });
}

function nameOf({ operation, number, agent }: Told): string {
  return `${operation.kind} ${number} on ${agent.name} (${operation.status})`;
}
