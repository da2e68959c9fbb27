/** The calls of `node:fs` that wait, one of which fails. */
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";

const names = [
  "accessSync",
  "chmodSync",
  "chownSync",
  "closeSync",
  "fchmodSync",
  "fchownSync",
  "fstatSync",
  "fsyncSync",
  "ftruncateSync",
  "futimesSync",
  "lchownSync",
  "lstatSync",
  "mkdirSync",
  "openSync",
  "opendirSync",
  "readdirSync",
  "readFileSync",
  "readlinkSync",
  "readSync",
  "realpathSync",
  "renameSync",
  "rmdirSync",
  "rmSync",
  "statSync",
  "symlinkSync",
  "unlinkSync",
  "writeFileSync",
  "writeSync",
] as const;

/**
 * Runs something of which the call with this number, from 0, fails before it has done anything; a `closeSync` has closed by then. Gives what
 * it returns, and the name of the call; null where so many were not made.
 */
export function failingAt<Result>(
  number: number,
  code: "EIO" | "ENOSPC",
  act: () => Result,
): { result: Result; failed: string | null } {
  let made = 0;
  let failed: string | null = null;
  const originals = Object.fromEntries(names.map((name) => [name, fs[name]]));
  const failing = (name: string, call: (...args: unknown[]) => unknown) => {
    return (...args: unknown[]): unknown => {
      const isIt = made++ === number;
      if (isIt) failed = `${number} ${name}`;
      const result = isIt && name !== "closeSync" ? null : call(...args);
      if (isIt) throw Object.assign(new Error(`${code}: injected by the test, ${name}`), { code });
      return result;
    };
  };
  for (const [name, call] of Object.entries(originals))
    Object.assign(fs, { [name]: failing(name, call as (...args: unknown[]) => unknown) });
  syncBuiltinESMExports();
  try {
    return { result: act(), failed };
  } finally {
    Object.assign(fs, originals);
    syncBuiltinESMExports();
  }
}
