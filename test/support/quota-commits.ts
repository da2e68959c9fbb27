/** Commits and blobs of a file storage, `quota-commits.ts <folder>`: prints how each went. */
import { writeSync } from "node:fs";
import { isOrchestratorError } from "../../lib/errors.ts";
import { FileStorage } from "../../lib/storage/file-storage.ts";

const storage = new FileStorage({ folder: process.argv[2] ?? "" });
await storage.open({ version: 1, collections: { agents: { indexes: {} } }, logs: {} });

async function tell(step: string, work: () => Promise<unknown>): Promise<void> {
  const outcome = await work().then(
    () => "done",
    (error: unknown) => (isOrchestratorError(error) ? `${error.code} ${error.message}` : String(error)),
  );
  writeSync(1, `${step}: ${outcome}\n`);
}

for (let n = 1; n <= 40; n++) {
  await tell("commit", () =>
    storage.commit([{ kind: "put", collection: "agents", key: `k${n}`, value: { n } }]),
  );
  await tell("blob", () => storage.appendBlob(`b${n}`, Buffer.from("content")));
}
await storage.close();
