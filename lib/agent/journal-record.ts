import { z } from "zod";
import { owedTriggerSchema, type Watching, watchingSchema } from "../state/owed.ts";
import { resolvedResourceSchema } from "../state/resource.ts";
import { resourceResultSchema } from "../state/result.ts";
import type { AppliedResource } from "../state/run/applied-resource.ts";
import { type AgentMessage, type MessageOf, type PeerError, agentMessageSchema } from "../wire/messages.ts";
import { appliedResourceSchema } from "./applied-set.ts";
import { seal, unseal } from "./sealed-text.ts";

const timestamp = z.iso.datetime();

const resultMessageSchema = z.custom<MessageOf<AgentMessage, "result">>((value) => {
  const message = agentMessageSchema.safeParse(value);
  return message.success && message.data.type === "result";
});

/** One line of the journal of an operation. */
export const journalRecordSchema = z.discriminatedUnion("record", [
  z.strictObject({
    record: z.literal("accepted"),
    operation_id: z.uuid(),
    kind: z.enum(["apply", "plan", "check", "run", "forget"]),
    not_after: timestamp,
    at: timestamp,
  }),
  z.strictObject({
    record: z.literal("started"),
    at: timestamp,
    /** Since when the machine runs; absent = not known. */
    boot: z.string().optional(),
  }),
  z.strictObject({
    record: z.literal("captured"),
    resources: z.array(appliedResourceSchema),
    /** What each is about; absent where an earlier version wrote it. */
    identities: z.array(z.string()).optional(),
  }),
  z.strictObject({
    record: z.literal("begun"),
    identity: z.string(),
    /** The same as the resource spells it; absent = the same. */
    spelled: z.string().optional(),
    removal: z.boolean(),
    /** What is wanted there, where an earlier operation captured what stood before. */
    resource: resolvedResourceSchema.optional(),
  }),
  /** Whose trigger is owed as soon as what it watches is begun. */
  z.strictObject({ record: z.literal("watching"), resources: z.array(watchingSchema) }),
  z.strictObject({ record: z.literal("untouched"), identity: z.string() }),
  z.strictObject({ record: z.literal("result"), result: resourceResultSchema }),
  /** The agent is about to be restarted, after all else. */
  z.strictObject({
    record: z.literal("restarting"),
    resource: resolvedResourceSchema,
    /** Names the run that is to end. */
    own_run: z.string(),
    boot: z.string().optional(),
    /** Owed once it is done. */
    owed: z.array(owedTriggerSchema),
    /** As it is once it is done. */
    result: resultMessageSchema,
  }),
  z.strictObject({ record: z.literal("finished"), result: resultMessageSchema }),
  // What could not be read was taken out, so that the rest can be.
  z.strictObject({ record: z.literal("damaged"), line: z.number().int().positive() }),
]);

/** One line of the journal of an operation. */
export type JournalRecord = z.infer<typeof journalRecordSchema>;

/** What is written down before the agent is restarted. */
export type RestartingRecord = Extract<JournalRecord, { record: "restarting" }>;

/** The lines that say what stood before, what each is about where that is known, and who watches what is to be changed. */
export function recordsBeforeChanges(
  captured: readonly (AppliedResource & { identity?: string })[],
  watching: readonly Watching[] = [],
): JournalRecord[] {
  const records: JournalRecord[] = [];
  if (captured.length > 0) {
    const resources = captured.map(({ identity: _as, ...entry }) => entry);
    const identities = captured.flatMap(({ identity }) => identity ?? []);
    const areKnown = identities.length === resources.length;
    records.push({ record: "captured", resources, ...(areKnown && { identities }) });
  }
  if (watching.length > 0) records.push({ record: "watching", resources: [...watching] });
  return records;
}

/** What of a journal can be read. */
export interface ParsedJournal {
  /** Every record that is as it was written; without the one of its acceptance, none. */
  records: JournalRecord[];
  /** The first line that is damaged, from 1; null where there is none. */
  damagedLine: number | null;
  /** Whether the file holds these records and nothing else, each with its checksum. */
  isSound: boolean;
}

/** Writes a record as a line. */
export function toLine(record: JournalRecord): string {
  return `${seal(record)}\n`;
}

/**
 * Reads the journal of an operation. A last line without its end was being written and is no damage; what is behind a
 * damaged line counts, since each has a checksum of its own. A file that is another operation's says nothing of this one.
 */
export function parseJournal(text: string, operationId: string): ParsedJournal {
  const records: JournalRecord[] = [];
  let [damagedLine, isSealed, start, line]: [number | null, boolean, number, number] = [null, true, 0, 0];
  for (let end = text.indexOf("\n"); end >= 0; end = text.indexOf("\n", start)) {
    line++;
    const found = parseRecord(text.slice(start, end));
    if (found === null) damagedLine ??= line;
    else if (found.record.record === "damaged") damagedLine ??= found.record.line;
    else records.push(found.record);
    isSealed &&= found?.isSealed !== false;
    start = end + 1;
  }
  const isSound = isSealed && start === text.length && damagedLine === null;
  const [first] = records;
  if (first?.record === "accepted" && records.every((record) => isOf(record, operationId)))
    return { records, damagedLine, isSound };
  return { records: [], damagedLine: damagedLine ?? 1, isSound: false };
}

/** Reads the last whole line of a journal alone; null where there is none or it is damaged. */
export function parseLastRecord(text: string): JournalRecord | null {
  const end = text.lastIndexOf("\n");
  if (end < 0) return null;
  return parseRecord(text.slice(text.lastIndexOf("\n", end - 1) + 1, end))?.record ?? null;
}

/** What an operation ends with whose journal is damaged from a line on. */
export function damageOf(line: number): PeerError {
  return {
    code: "STORAGE_CORRUPT",
    message: `The agent's journal of the operation is damaged from line ${line} on: what it did beyond these results is not known. It was not run again.`,
  };
}

function isOf(record: JournalRecord, operationId: string): boolean {
  if (record.record === "accepted") return record.operation_id === operationId;
  const holdsResult = record.record === "finished" || record.record === "restarting";
  return !holdsResult || record.result.operation_id === operationId;
}

function parseRecord(line: string): { record: JournalRecord; isSealed: boolean } | null {
  const unsealed = unseal(line);
  const parsed = journalRecordSchema.safeParse(unsealed?.value);
  return unsealed && parsed.success ? { record: parsed.data, isSealed: unsealed.isSealed } : null;
}
