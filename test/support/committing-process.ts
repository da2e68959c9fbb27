/** Commits in a loop with eight writers into the folder given, and prints each commit once it is acknowledged. */
import { systemClock } from "../../lib/clock.ts";
import { FileStorage } from "../../lib/storage/file-storage.ts";

const folder = process.argv[2] ?? "";
const sizes = { segmentBytes: 16_384, minJournalBytes: 32_768, logSegmentBytes: 8_192 };
const storage = new FileStorage({ folder, clock: systemClock, ...sizes });
await storage.open({
  version: 1,
  collections: { agents: { indexes: {} } },
  logs: { audit: { chained: true } },
});

async function write(writer: string): Promise<never> {
  const stored = await storage.get<{ n: number }>("agents", writer);
  for (let n = (stored?.value.n ?? 0) + 1; ; n++) {
    await storage.commit([
      {
        kind: "put",
        collection: "agents",
        key: writer,
        value: { n, pad: "x".repeat(n % 300) },
        expected: n - 1,
      },
      { kind: "append", log: "audit", at: n, value: { key: writer, n } },
    ]);
    process.stdout.write(`${writer} ${n}\n`);
  }
}

await Promise.all(Array.from({ length: 8 }, (_, index) => write(`writer-${index}`)));
