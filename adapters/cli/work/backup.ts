import { createReadStream } from "node:fs";
import { open } from "node:fs/promises";
import { resolve } from "node:path";
import { OrchestratorError, restoreBackup, verifyBackup } from "fleetwright";
import type { BackupSummary } from "fleetwright";
import { codeOf } from "../../client/system-error.ts";
import type { CommandCall } from "../call.ts";
import { UsageError } from "../failure.ts";
import { countOf } from "../show-results.ts";
import { toFacts } from "../text.ts";
import { confirmOrigin, originOf, originOfServer, type OriginOptions } from "./backup-origin.ts";
import { makeFile } from "./new-file.ts";

/** Checks a backup. Whose it is, is told where nothing says whose it must be. */
export async function verify(call: CommandCall, file: string, options: OriginOptions): Promise<void> {
  const path = resolve(file);
  const origin = originOf(call, options);
  const summary = await reading(path, (archive) => verifyBackup(archive, origin));
  showSummary(call, path, summary);
}

/** Options of `fleetwright restore`. */
export interface RestoreOptions extends OriginOptions {
  dataDir: string;
  epochAfter?: number;
}

/** Makes a data folder out of a backup. */
export async function restore(call: CommandCall, file: string, options: RestoreOptions): Promise<void> {
  const path = resolve(file);
  const folder = resolve(options.dataDir);
  const { epochAfter = 0 } = options;
  const origin = originOf(call, options) ?? (await confirmOrigin(call, await reading(path, verifyBackup)));
  const summary = await reading(path, (archive) => restoreBackup(archive, folder, { ...origin, epochAfter }));
  showSummary(call, folder, summary);
}

/** Downloads a backup. The file appears under its name when it is whole, checked and on disk; never over another one. */
export async function download(call: CommandCall, file: string): Promise<void> {
  const path = resolve(file);
  const summary = await makeFile(path, async (append) => {
    const stream = await call.client.backups.create();
    const pieces = copied(stream, append);
    return verifyBackup(pieces, originOfServer(call));
  });
  showSummary(call, path, summary);
}

/** Hands a stream on and writes it down on the way. */
async function* copied(
  stream: AsyncIterable<Uint8Array>,
  write: (piece: Uint8Array) => Promise<unknown>,
): AsyncGenerator<Uint8Array> {
  const pieces = stream[Symbol.asyncIterator]();
  try {
    for (;;) {
      const { done, value } = await pieces.next().catch((cause: unknown) => {
        throw new OrchestratorError("UNAVAILABLE", { message: "The download broke off; try again.", cause });
      });
      if (done === true) return;
      await write(value);
      yield value;
    }
  } finally {
    await pieces.return?.();
  }
}

async function reading(
  path: string,
  use: (archive: AsyncIterable<Uint8Array>) => Promise<BackupSummary>,
): Promise<BackupSummary> {
  const unreadable = (code: string): UsageError => new UsageError(`${path} can't be read (${code}).`);
  const file = await open(path, "r").catch((error: unknown) => {
    throw unreadable(codeOf(error));
  });
  try {
    if ((await file.stat()).isDirectory()) throw unreadable("EISDIR");
    return await use(createReadStream(path, { fd: file, autoClose: false }) as AsyncIterable<Uint8Array>);
  } finally {
    // Also where nothing was read of it.
    await file.close();
  }
}

function showSummary(call: CommandCall, path: string, summary: BackupSummary): void {
  const { files, bytes, documents, log_entries, series_parts, series_damages, orchestrator_key } = summary;
  call.show({ path, ...summary }, () =>
    toFacts([
      ["Path", path],
      ["Signed by", orchestrator_key ?? "nobody"],
      ["Files", files],
      ["Bytes", bytes],
      ["Documents", documents],
      ["Log entries", log_entries],
      [
        "Time series",
        `${countOf(series_parts, "part")}${series_damages > 0 ? `, ${series_damages} damaged` : ""}`,
      ],
    ]),
  );
}
