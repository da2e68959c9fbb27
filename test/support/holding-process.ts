/** Holds the locks of a folder until it is killed: `holding-process.ts <folder>`. Says its number when it has them. */
import { StateLock } from "../../lib/agent/state-lock.ts";
import { silentLogger } from "../../lib/logger.ts";
import { nodeDisk } from "../../lib/storage/file/disk.ts";
import { FolderLock } from "../../lib/storage/file/lock.ts";

const folder = process.argv[2] ?? "";
const locks = [FolderLock.take(nodeDisk, folder, silentLogger), new StateLock(folder)];
console.log(process.pid);
setInterval(() => locks.length, 1_000);
