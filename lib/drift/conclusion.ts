/**
 * What a drift check that has ended means: its record, and whether the machine left its baseline or came back to it. An apply of
 * everything brings it back, too.
 */
import type { Findings } from "../agents/findings.ts";
import type { Context, EventInput } from "../context.ts";
import type { DriftEndFacts } from "../event-facts.ts";
import type { EventSubject } from "../events.ts";
import { toJsonObject } from "../json.ts";
import type { AgentStateDocument, OperationDocument } from "../operations/documents.ts";
import type { OperationChange } from "../operations/operation-store.ts";
import { toCounts } from "../state/result.ts";
import type { Write } from "../storage/storage.ts";
import type { DriftDocument, DriftStateDocument } from "./documents.ts";
import { findingsAfterCheck } from "./findings-after.ts";
import type { DriftStatus } from "./schemas.ts";

type Operation = Readonly<OperationDocument>;

/** What a check is concluded with. */
interface Known {
  /** What is known of the machine since its newest applies. */
  known: Readonly<AgentStateDocument> | null;
  /** Whether it is known late how it ended, and another has ended since: then it is a record and no news. */
  isOld: boolean;
  /** Where lists of agents look. */
  findings: Findings;
}

/**
 * Works out what to write in the step that ends the operation of a check.
 */
export async function concludeCheck(
  context: Context,
  operation: Operation,
  { known, isOld, findings }: Known,
): Promise<OperationChange> {
  const { operation_id, node_id } = operation;
  const stored = await context.storage.get<DriftDocument>("drift_records", operation_id);
  if (!stored) return {};
  // Of one that is known late, the record said that nothing had been heard.
  const { error: _, ...begun } = stored.value;
  const isOvertaken = known?.baseline?.operation_id !== begun.baseline_operation_id;
  const record: DriftDocument = {
    ...begun,
    status: toDriftStatus(operation, isOvertaken),
    counts: operation.counts,
    checked_at: context.timestamp(),
    duration_ms: operation.duration_ms ?? 0,
    ...reasonOf(operation, isOvertaken),
  };
  const found = await findings.change(node_id, (before) => findingsAfterCheck(before, record, isOld));
  if (isOld) return { writes: [toRecordPut(record, stored.revision), ...found] };
  const state = await context.storage.get<DriftStateDocument>("drift_states", node_id);
  const before = state?.value ?? { drifted: false };
  const after = toState(record, before);
  const previous = await previousOf(context, record, before);
  const forgotten = previous ? await forget(context, previous) : [];
  const writes = [toRecordPut(record, stored.revision), ...found, ...forgotten];
  if (after !== before) writes.push(toStatePut(node_id, after, state?.revision ?? 0));
  return { writes, events: toNews(operation, before.drifted, after.drifted) };
}

/**
 * Works out what to write in the step that ends an apply after which nothing has drifted any more. How often the machine was repaired
 * since it was in sync stays: that is for a check to say.
 */
export async function concludeApply(context: Context, operation: Operation): Promise<OperationChange> {
  const { node_id } = operation;
  const state = await context.storage.get<DriftStateDocument>("drift_states", node_id);
  if (state?.value.drifted !== true) return {};
  const writes = [toStatePut(node_id, { ...state.value, drifted: false }, state.revision)];
  return { writes, events: [resolvedEvent(operation, { operation_id: operation.operation_id })] };
}

function toStatePut(nodeId: string, state: Readonly<DriftStateDocument>, expected: number): Write {
  const value = toJsonObject(state);
  return { kind: "put", collection: "drift_states", key: nodeId, value, expected };
}

/** The write of a record in the place of the revision that was read; 0 for a new one. */
export function toRecordPut(record: DriftDocument, expected: number): Write {
  const value = toJsonObject(record);
  return { kind: "put", collection: "drift_records", key: record.drift_id, value, expected };
}

/** Why the check says nothing of the machine, where the results of its resources don't tell. */
function reasonOf({ error }: Operation, isOvertaken: boolean): Pick<DriftDocument, "error"> {
  if (isOvertaken)
    return { error: { code: "REVISION_CONFLICT", message: "An apply ended in the meantime." } };
  return error ? { error } : {};
}

/** An apply that ended after the check was asked for made its own baseline: what was found is about another one. */
function toDriftStatus({ status, counts }: Operation, isOvertaken: boolean): DriftStatus {
  if (status === "cancelled" || isOvertaken) return "cancelled";
  if (status !== "succeeded") return "failed";
  return counts.would_change > 0 ? "drifted" : "in_sync";
}

function toState(
  { status, trigger, drift_id }: DriftDocument,
  before: Readonly<DriftStateDocument>,
): Readonly<DriftStateDocument> {
  const scheduled = trigger === "scheduled" ? { scheduled_id: drift_id } : {};
  if (status === "drifted") return { ...before, ...scheduled, drifted: true };
  if (status !== "in_sync") return trigger === "scheduled" ? { ...before, ...scheduled } : before;
  const { enforcement: _, ...rest } = before;
  return { ...rest, ...scheduled, drifted: false };
}

/**
 * The scheduled check before, where it found the same: of a row of them only the newest is kept, or a quiet fleet would fill
 * the disk with them.
 */
async function previousOf(
  context: Context,
  { drift_id, trigger, status, error }: DriftDocument,
  { scheduled_id }: Readonly<DriftStateDocument>,
): Promise<DriftDocument | null> {
  if (trigger !== "scheduled" || scheduled_id === undefined || scheduled_id === drift_id) return null;
  const previous = await context.storage.get<DriftDocument>("drift_records", scheduled_id);
  const isSame = previous?.value.status === status && previous.value.error?.code === error?.code;
  return isSame ? previous.value : null;
}

/** What it compared with may be known of nowhere else by now: a machine can be away for longer than its applies are kept. */
async function forget({ storage, contents }: Context, { drift_id }: DriftDocument): Promise<Write[]> {
  const operation = await storage.get<OperationDocument>("operations", drift_id);
  return [
    { kind: "delete", collection: "drift_records", key: drift_id },
    { kind: "delete", collection: "operations", key: drift_id },
    ...(operation ? [contents.loosen("snapshot", operation.value.snapshot)] : []),
  ];
}

function toNews(check: Operation, before: boolean, after: boolean): EventInput[] {
  if (before === after) return [];
  const { operation_id: drift_id, counts } = check;
  if (!after) return [resolvedEvent(check, { drift_id })];
  return [
    {
      type: "drift.detected",
      target: agentOf(check),
      summary: `${check.agent_name} has drifted in ${counts.would_change} of ${counts.total} resources`,
      metadata: { drift_id, counts: toCounts(counts) },
    },
  ];
}

function resolvedEvent(operation: Operation, by: Omit<DriftEndFacts, "counts">): EventInput {
  return {
    type: "drift.resolved",
    target: agentOf(operation),
    summary: `${operation.agent_name} is as it was applied again`,
    metadata: { ...by, counts: toCounts(operation.counts) },
  };
}

function agentOf({ node_id, agent_name }: Operation): EventSubject {
  return { type: "agent", id: node_id, name: agent_name };
}
