/**
 * Calls of the C library that Node has no function for: extended attributes, flags of files, what becomes of orphans.
 * On Linux only; where the library can't be loaded there is none, and whoever asks says what is missing then.
 */
import { createRequire } from "node:module";
import type * as Koffi from "koffi";

/** How the C library is reached: its functions by their prototypes, and the error of the last call. */
export interface Libc {
  readonly library: Koffi.LibraryHandle;
  /** The error number of the last call that failed, as errno(3) has it. */
  errno(): number;
}

let loaded: Libc | null | undefined;

/** The C library of this process; null where it can't be called. Loaded when it is asked for first. */
export function libc(): Libc | null {
  loaded ??= process.platform === "linux" ? load() : null;
  return loaded;
}

function load(): Libc | null {
  try {
    // Loading it costs some megabytes, which only an agent that changes its machine needs to spend.
    const koffi = createRequire(import.meta.url)("koffi") as typeof Koffi;
    return { library: koffi.load(null), errno: () => koffi.errno() };
  } catch {
    return null;
  }
}
