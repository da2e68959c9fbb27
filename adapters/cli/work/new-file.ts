/** Files that appear under their name when they are whole and on disk, and never take the place of another. */
import { rmSync } from "node:fs";
import { type FileHandle, link, open, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { codeOf } from "../../client/system-error.ts";
import { UsageError } from "../failure.ts";

/** Writes a piece behind those before. */
type WritePiece = (piece: string | Uint8Array) => Promise<void>;

/**
 * Makes a file of mode 0600. Nothing is left of one that fails, nor where a signal ends the process meanwhile.
 *
 * @param fill - Writes what is to be in it.
 * @returns What `fill` returned, once the file and its name are on disk.
 * @throws {UsageError} Where it can't be written.
 */
export async function makeFile<Result>(
  path: string,
  fill: (write: WritePiece) => Promise<Result>,
): Promise<Result> {
  const fail = (error: unknown): never => {
    throw new UsageError(`${path} can't be written (${codeOf(error)}).`);
  };
  const aside = `${path}.${process.pid}.part`;
  const target = await open(aside, "wx", 0o600).catch(fail);
  const forget = onEnd(() => rmSync(aside, { force: true }));
  try {
    const result = await fill((piece) => target.appendFile(piece).catch(fail));
    await target.sync().catch(fail);
    await link(aside, path).catch(fail);
    await syncFolder(dirname(path)).catch(async (error: unknown) => {
      await rm(path, { force: true });
      return fail(error);
    });
    return result;
  } finally {
    await letGo(target);
    await rm(aside, { force: true });
    forget();
  }
}

const endSignals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** Acts before a signal ends the process, which still dies of it. */
function onEnd(act: () => void): () => void {
  const forget = (): void => {
    for (const signal of endSignals) process.off(signal, end);
  };
  const end = (signal: NodeJS.Signals): void => {
    forget();
    act();
    process.kill(process.pid, signal);
  };
  for (const signal of endSignals) process.on(signal, end);
  return forget;
}

async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, "r");
  try {
    await folder.sync();
  } finally {
    await letGo(folder);
  }
}

/** What was synced is on disk, whatever the close says. */
async function letGo(file: FileHandle): Promise<void> {
  await file.close().catch(() => {});
}
