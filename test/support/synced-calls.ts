/** Does each thing that must be durable on a real file system, between two marks: `synced-calls.ts <folder>`. */
import { mkdirSync, writeSync } from "node:fs";
import { join } from "node:path";
import { appendFile, createFile, makeFolder, replaceFile } from "../../lib/agent/durable-file.ts";
import { FileStorage } from "../../lib/storage/file-storage.ts";
import { nodeDisk } from "../../lib/storage/file/disk.ts";

const folder = process.argv[2] ?? "";
mkdirSync(join(folder, "data", "logs", "audit"), { recursive: true });
mkdirSync(join(folder, "data", "blobs"));

async function step(name: string, run: () => unknown): Promise<void> {
  writeSync(1, `begin ${name}\n`);
  await run();
  writeSync(1, `end ${name}\n`);
}

await step("disk folder", () => nodeDisk.makeFolder(join(folder, "a", "b")));
const durable = await nodeDisk.open(join(folder, "durable"), "durable");
await step("disk durable", async () => {
  const file = await nodeDisk.open(join(folder, "durable"), "durable");
  await file.write(Buffer.from("durable"), 0);
  await file.close();
});
await durable.close();
const plain = await nodeDisk.open(join(folder, "plain"), "write");
await step("disk sync", () => plain.sync());
await plain.close();
await step("disk names", () => nodeDisk.syncFolder(folder));

await step("agent folder", () => makeFolder(join(folder, "c", "d")));
await step("agent create", () => createFile(join(folder, "c", "created"), "text"));
await step("agent replace", () => replaceFile(join(folder, "c", "replaced"), "text"));
await step("agent append", () => appendFile(join(folder, "c", "created"), "line\n", { durable: true }));

const storage = new FileStorage({ folder: join(folder, "data"), segmentBytes: 2_048 });
await step("start", () => storage.open({ version: 1, collections: {}, logs: { audit: { chained: true } } }));
await storage.close();
