/** A server that is restored: its backup, and another life of it. */
import { copyFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { expect } from "vitest";
import { originOf } from "./backups.ts";
import { Program, startServerProcess, type ServerProcess } from "./processes.ts";

/** Takes a backup of a running server into a file. */
export async function takeBackup({ client }: ServerProcess, file: string): Promise<string> {
  await writeFile(file, await buffer(await client.backups.create()));
  return file;
}

/** Restores a backup by the command line, with the key of the first Admin, which is not in it. */
export async function restoreTo(file: string, from: string, to: string): Promise<void> {
  const { orchestratorKey } = await originOf(file);
  const program = new Program(["restore", file, "--data-dir", to, "--orchestrator-key", orchestratorKey]);
  expect([await program.exited(), program.stderr]).toEqual([0, ""]);
  copyFileSync(join(from, "admin-key"), join(to, "admin-key"));
}

/** Restores a backup and starts a server on it. */
export async function startRestored(
  file: string,
  { from, to, port = 0 }: { from: string; to: string; port?: number },
): Promise<ServerProcess> {
  await restoreTo(file, from, to);
  return startServerProcess(to, port);
}
