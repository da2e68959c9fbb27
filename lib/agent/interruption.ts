/** What an operation ends with that was cut off, as far as its journal can be read. */
import { type Clock, toTimestamp } from "../clock.ts";
import type { AgentMessage, MessageOf } from "../wire/messages.ts";
import { damageOf, type JournalRecord, type ParsedJournal } from "./journal-record.ts";

/** The first record of a journal. */
export type AcceptedRecord = Extract<JournalRecord, { record: "accepted" }>;

/** Longer than the time of any command. */
const maxCommandMs = 7 * 86_400_000;

/** Stands for the record of an acceptance that can't be read. The command may still arrive for as long as any may. */
export function lostAcceptance(operationId: string, clock: Clock): AcceptedRecord {
  const now = clock.now();
  const not_after = toTimestamp(now + maxCommandMs);
  return { record: "accepted", operation_id: operationId, kind: "apply", not_after, at: toTimestamp(now) };
}

/** The result of an operation that has ended and whose journal was damaged since: it says what became of it, as after a restart. */
export function damagedEnd(
  operationId: string,
  journal: ParsedJournal,
  clock: Clock,
): MessageOf<AgentMessage, "result"> {
  const found = journal.records.find((record) => record.record === "finished");
  return found?.result ?? interruptionOf(operationId, journal, { clock, damagedAt: 1 });
}

/** The result of an operation that was cut off: what it got to, and where its journal is damaged. */
export function interruptionOf(
  operationId: string,
  { records, damagedLine }: ParsedJournal,
  { clock, damagedAt = null }: { clock: Clock; damagedAt?: number | null },
): MessageOf<AgentMessage, "result"> {
  const line = damagedLine ?? damagedAt;
  const began = records.find((record) => record.record === "started") ?? records[0];
  const finishedAt = clock.now();
  const startedAt = began && "at" in began ? Date.parse(began.at) : finishedAt;
  return {
    type: "result",
    operation_id: operationId,
    status: "interrupted",
    results: records.flatMap((record) => (record.record === "result" ? [record.result] : [])),
    output: [],
    ...(line !== null && { error: damageOf(line) }),
    started_at: toTimestamp(startedAt),
    finished_at: toTimestamp(finishedAt),
    duration_ms: Math.max(0, finishedAt - startedAt),
  };
}
