/** Does each thing that must be durable on a real file system, between two marks: `synced-calls.ts <folder>`. */
import { createHash } from "node:crypto";
import { mkdirSync, writeSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { appendFile, createFile, makeFolder, replaceFile } from "../../lib/agent/durable-file.ts";
import { LocalHost } from "../../lib/host/local-host.ts";
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

const host = new LocalHost({ stateFolder: join(folder, "state") });
const machine = join(folder, "machine");
mkdirSync(machine);
const [content, signal] = [Buffer.from("content"), new AbortController().signal];
const sha256 = createHash("sha256").update(content).digest("hex");
const server = createServer((_request, response) => void response.end(content));
await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
const kept = async (name: string, change: () => unknown): Promise<void> =>
  step(`host ${name}`, async () => {
    await change();
    await host.barrier();
  });
await kept("write", () => host.files.writeFile(join(machine, "written"), content, {}));
await kept("attributes", () => host.files.setAttributes(join(machine, "written"), { mode: 0o640 }));
await kept("download", () =>
  host.download({ url, path: join(machine, "got"), sha256, attributes: {} }, signal),
);
await kept("copy", () => host.backups.save(join(machine, "written")));
await kept("restore", () => host.backups.restore(sha256, join(machine, "back"), {}));
await kept("move", () => host.files.move(join(machine, "got"), join(machine, "moved")));
await kept("link", () => host.files.makeSymlink(join(machine, "link"), "moved"));
await kept("owner of a link", () =>
  host.files.setAttributes(join(machine, "link"), { uid: process.getuid!() }),
);
await kept("folder", () => host.files.makeDirectory(join(machine, "sub"), {}));
await kept("mode of a folder", () => host.files.setAttributes(join(machine, "sub"), { mode: 0o700 }));
await kept("move elsewhere", () => host.files.move(join(machine, "moved"), join(machine, "sub", "moved")));
await kept("removal", () => host.files.removeFile(join(machine, "sub", "moved")));
await kept("removal of a folder", () => host.files.removeDirectory(join(machine, "sub")));
server.close();
