import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** Frees what nobody refers to any more. */
export function collectGarbage(): void {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  collect();
}

/** Bytes of arrays outside the heap that somebody still refers to: how much waits to be collected is by chance. */
export function heldArrayBytes(): number {
  // Arrays are freed by another thread, for which the next collection waits.
  collectGarbage();
  collectGarbage();
  return process.memoryUsage().arrayBuffers;
}
