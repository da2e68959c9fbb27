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

/** Reads a journal up to its first damaged line. A last line without its end was being written and is no damage. */
export function parseJournal(text: string): { records: JournalRecord[]; damagedLine: number | null } {
  const records: JournalRecord[] = [];
  const lines = text.split("\n");
  // What follows the last line end: nothing, or a line that was cut off.
  lines.pop();
  for (const [at, line] of lines.entries()) {
    const record = parseRecord(line);
    if (!record) return { records, damagedLine: at + 1 };
    records.push(record);
  }
  return { records, damagedLine: null };
}

function parseRecord(line: string): JournalRecord | null {
  try {
    return journalRecordSchema.parse(JSON.parse(line));
  } catch {
    return null;
  }
}
