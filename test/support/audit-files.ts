/** Rewrites files of the audit log as somebody does who can write the data folder and knows how they are made. */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { JsonObject } from "../../lib/json.ts";
import { decodeRecord, encodeRecord } from "../../lib/storage/file/record.ts";

/** Changes the summary of an event to one that is as long, with a checksum that fits. The server may run. */
export function editEvent(folder: string, sequence: number): void {
  const logs = join(folder, "logs", "audit");
  let edited = 0;
  for (const name of readdirSync(logs)) {
    const path = join(logs, name);
    const bytes = readFileSync(path);
    const records: Buffer[] = [];
    for (let record = decodeRecord(bytes, 0); record; record = decodeRecord(bytes, record.end)) {
      const entry = JSON.parse(record.text) as { value: JsonObject };
      if (record.sequence === sequence) {
        entry.value["summary"] = [...String(entry.value["summary"])].toReversed().join("");
        edited += 1;
      }
      records.push(encodeRecord(record.sequence, JSON.stringify(entry)));
    }
    writeFileSync(path, Buffer.concat(records));
  }
  if (edited !== 1) throw new Error(`Event ${sequence} is in no file yet.`);
}
