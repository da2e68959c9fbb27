/** What a drift check that has ended means: its record, and whether the machine left its baseline or came back to it. */
import type { Findings } from "../agents/findings.ts";
import type { Context, EventInput } from "../context.ts";
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
  const isOvertaken = known?.baseline?.operation_id !== stored.value.baseline_operation_id;
  const record: DriftDocument = {
    ...stored.value,
    status: toDriftStatus(operation, isOvertaken),
    counts: operation.counts,
    checked_at: context.timestamp(),
    duration_ms: operation.duration_ms ?? 0,
  };
  const found = await findings.change(node_id, (before) => findingsAfterCheck(before, record, isOld));
  if (isOld) return { writes: [toRecordPut(record, stored.revision), ...found] };
  const state = await context.storage.get<DriftStateDocument>("drift_states", node_id);
  const before = state?.value ?? { drifted: false };
  const after = toState(record, before);
  const previous = await previousOf(context, record, before);
  const writes = [toRecordPut(record, stored.revision), ...found, ...(previous ? forget(previous) : [])];
  if (after !== before) {
    const value = toJsonObject(after);
    const expected = state?.revision ?? 0;
    writes.push({ kind: "put", collection: "drift_states", key: node_id, value, expected });
  }
  return { writes, events: before.drifted === after.drifted ? [] : [changeEvent(operation, after.drifted)] };
}

/** The write of a record in the place of the revision that was read; 0 for a new one. */
export function toRecordPut(record: DriftDocument, expected: number): Write {
  const value = toJsonObject(record);
  return { kind: "put", collection: "drift_records", key: record.drift_id, value, expected };
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
  { drift_id, trigger, status }: DriftDocument,
  { scheduled_id }: Readonly<DriftStateDocument>,
): Promise<DriftDocument | null> {
  if (trigger !== "scheduled" || scheduled_id === undefined || scheduled_id === drift_id) return null;
  const previous = await context.storage.get<DriftDocument>("drift_records", scheduled_id);
  return previous?.value.status === status ? previous.value : null;
}

function forget({ drift_id }: DriftDocument): Write[] {
  return [
    { kind: "delete", collection: "drift_records", key: drift_id },
    { kind: "delete", collection: "operations", key: drift_id },
  ];
}

function changeEvent({ operation_id, node_id, agent_name, counts }: Operation, drifted: boolean): EventInput {
  return {
    type: drifted ? "drift.detected" : "drift.resolved",
    target: { type: "agent", id: node_id, name: agent_name },
    summary: drifted
      ? `${agent_name} has drifted in ${counts.would_change} of ${counts.total} resources`
      : `${agent_name} is as it was applied again`,
    metadata: { drift_id: operation_id, counts: toCounts(counts) },
  };
}
