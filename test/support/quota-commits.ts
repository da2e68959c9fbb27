/** Commits and blobs of a file storage, `quota-commits.ts <folder>`, until both were refused and are taken again: prints how each went. */
import { writeSync } from "node:fs";
import { isOrchestratorError } from "../../lib/errors.ts";
import { FileStorage } from "../../lib/storage/file-storage.ts";

const storage = new FileStorage({ folder: process.argv[2] ?? "" });
await storage.open({ version: 1, collections: { agents: { indexes: {} } }, logs: {} });

const refused = new Set<string>();
/** Steps since the last that was refused. */
let taken = 0;

async function tell(step: string, work: () => Promise<unknown>): Promise<void> {
  const outcome = await work().then(
    () => "done",
    (error: unknown) => (isOrchestratorError(error) ? `${error.code} ${error.message}` : String(error)),
  );
  taken += 1;
  if (outcome !== "done") {
    refused.add(step);
    taken = 0;
  }
  writeSync(1, `${step}: ${outcome}\n`);
}

// Each thread has a window of its own in which it is refused: between two of them much may be taken.
for (let n = 1; n <= 1_000 && (refused.size < 2 || taken < 60); n++) {
  await tell("commit", () =>
    storage.commit([{ kind: "put", collection: "agents", key: `k${n}`, value: { n } }]),
  );
  await tell("blob", () => storage.appendBlob(`b${n}`, Buffer.from("content")));
}
await storage.close();
