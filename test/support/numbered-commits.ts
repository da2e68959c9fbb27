/** A short life of a file storage, `numbered-commits.ts <folder>`: each step is printed once it is acknowledged. */
import { writeSync } from "node:fs";
import { FileStorage } from "../../lib/storage/file-storage.ts";

const folder = process.argv[2] ?? "";
const sizes = { segmentBytes: 2_048, minJournalBytes: 3_000, logSegmentBytes: 1_024 };
const storage = new FileStorage({ folder, ...sizes });
await storage.open({
  version: 1,
  collections: { agents: { indexes: {} } },
  logs: { audit: { chained: true } },
});
const acknowledge = (step: string): void => void writeSync(1, `${step}\n`);

for (let n = 1; n <= 12; n++) {
  await storage.commit([
    { kind: "put", collection: "agents", key: `k${n % 3}`, value: { n, pad: "x".repeat(n * 40) } },
    { kind: "append", log: "audit", at: n, value: { n } },
  ]);
  acknowledge(`commit ${n}`);
  if (n % 4 === 0) {
    await storage.appendBlob("blob", Buffer.from(`[${n}]`));
    acknowledge(`blob ${n}`);
  }
  if (n === 10) {
    await storage.trimLog("audit", 5);
    acknowledge("trim 4");
  }
}
await storage.close();
