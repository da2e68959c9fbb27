/** A disk that takes a write in pieces, and so many bytes in all. */
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { onTestFinished } from "vitest";

/** From now on each `writeSync` of this process takes `piece` bytes at most, and none after `all`: then the disk is full. Ends with the test. */
export function limitWrites({ piece, all = Infinity }: { piece: number; all?: number }): { end: () => void } {
  const { writeSync } = fs;
  let left = all;
  const limited = (fd: number, data: string | Uint8Array, offset?: number | null): number => {
    if (left === 0) throw Object.assign(new Error("ENOSPC: injected by the test"), { code: "ENOSPC" });
    const bytes = typeof data === "string" ? Buffer.from(data) : data.subarray(offset ?? 0);
    const taken = writeSync(fd, bytes.subarray(0, Math.min(piece, left)));
    left -= taken;
    return taken;
  };
  const end = (): void => {
    Object.assign(fs, { writeSync });
    syncBuiltinESMExports();
  };
  Object.assign(fs, { writeSync: limited });
  syncBuiltinESMExports();
  onTestFinished(end);
  return { end };
}

/** From now on the call with this number, from 1, of a function of this process fails as on a broken disk. Ends with the test. */
export function failCall(name: "writeSync" | "fsyncSync", number: number): { end: () => void } {
  const original = fs[name] as (...args: unknown[]) => unknown;
  let calls = 0;
  const failing = (...args: unknown[]): unknown => {
    calls += 1;
    if (calls !== number) return original(...args);
    throw Object.assign(new Error("EIO: injected by the test"), { code: "EIO" });
  };
  const end = (): void => {
    Object.assign(fs, { [name]: original });
    syncBuiltinESMExports();
  };
  Object.assign(fs, { [name]: failing });
  syncBuiltinESMExports();
  onTestFinished(end);
  return { end };
}
