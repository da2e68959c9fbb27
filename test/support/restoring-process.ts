/** Restores a backup, or starts an orchestrator on a data folder: `restoring-process.ts restore|start <folder> [<file>]`. */
import { createReadStream } from "node:fs";
import { systemCaller } from "../../lib/callers/caller.ts";
import { systemClock } from "../../lib/clock.ts";
import { Orchestrator } from "../../lib/orchestrator.ts";
import { FileStorage } from "../../lib/storage/file-storage.ts";
import { restoreBackup } from "../../lib/storage/file/restore.ts";
import { MemoryTransport } from "../../lib/transport/memory-transport.ts";
import { originOf } from "./backups.ts";

const [, , what = "", folder = "", file = ""] = process.argv;
if (what === "restore") {
  const archive = createReadStream(file) as AsyncIterable<Uint8Array>;
  await restoreBackup(archive, folder, await originOf(file));
} else {
  const storage = new FileStorage({ folder, clock: systemClock });
  const orchestrator = new Orchestrator({ storage, transport: new MemoryTransport() });
  await orchestrator.start();
  const { epoch, status } = await orchestrator.restores.get(systemCaller);
  process.stdout.write(`${JSON.stringify({ epoch, status })}\n`);
  await orchestrator.stop();
}
