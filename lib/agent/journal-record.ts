import { z } from "zod";
import { resourceResultSchema } from "../state/result.ts";
import { type AgentMessage, type MessageOf, agentMessageSchema } from "../wire/messages.ts";
import { appliedResourceSchema } from "./applied-set.ts";

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
    kind: z.enum(["apply", "plan", "check"]),
    not_after: timestamp,
    at: timestamp,
  }),
  z.strictObject({ record: z.literal("started"), at: timestamp }),
  z.strictObject({ record: z.literal("captured"), resources: z.array(appliedResourceSchema) }),
  z.strictObject({ record: z.literal("result"), result: resourceResultSchema }),
  z.strictObject({ record: z.literal("finished"), result: resultMessageSchema }),
]);

/** One line of the journal of an operation. */
export type JournalRecord = z.infer<typeof journalRecordSchema>;

/** What of a journal can be read. */
export interface ParsedJournal {
  records: JournalRecord[];
  /** The text that holds these records and nothing else. */
  intact: string;
  /** The first line that is damaged, from 1; null where there is none. */
  damagedLine: number | null;
}

/** Reads a journal up to its first damaged line. A last line without its end was being written and is no damage. */
export function parseJournal(text: string): ParsedJournal {
  const records: JournalRecord[] = [];
  let start = 0;
  for (let end = text.indexOf("\n"); end >= 0; end = text.indexOf("\n", start)) {
    const record = parseRecord(text.slice(start, end));
    if (!record) return { records, intact: text.slice(0, start), damagedLine: records.length + 1 };
    records.push(record);
    start = end + 1;
  }
  return { records, intact: text.slice(0, start), damagedLine: null };
}

/** Reads the last whole line of a journal alone; null where there is none or it is damaged. */
export function parseLastRecord(text: string): JournalRecord | null {
  const end = text.lastIndexOf("\n");
  return end < 0 ? null : parseRecord(text.slice(text.lastIndexOf("\n", end - 1) + 1, end));
}

function parseRecord(line: string): JournalRecord | null {
  try {
    return journalRecordSchema.parse(JSON.parse(line));
  } catch {
    return null;
  }
}
