import { isOrchestratorError } from "../../errors.ts";
import type { DiskFile } from "./disk.ts";
import { storageError } from "./errors.ts";

const zeroBlock = Buffer.alloc(1 << 20);

/** Allocates a stretch of a file, by zeros. */
export async function fillWithZeros(file: DiskFile, from: number, to: number): Promise<void> {
  if (from >= to) return;
  for (let at = from; at < to; at += zeroBlock.length) {
    await file.write(zeroBlock.subarray(0, to - at), at);
  }
}

/** Allocates again what a cut took from the end of a file, as far as there is space. */
export async function refill(file: DiskFile, { from, to }: { from: number; to: number }): Promise<void> {
  try {
    await fillWithZeros(file, from, to);
  } catch (error) {
    if (!isOrchestratorError(storageError(error), "STORAGE_FULL")) throw error;
  }
}
