/** Wall clocks of processes, set by libfaketime, which leaves the monotonic clock alone. */
import { execFileSync } from "node:child_process";
import { renameSync, writeFileSync } from "node:fs";

/** Where Debian's package `faketime` has its library. */
function findLibrary(): string {
  const files = execFileSync("dpkg", ["-L", "libfaketime"], { encoding: "utf8" }).split("\n");
  return files.find((path) => path.endsWith("/libfaketime.so.1")) ?? "";
}

/** A wall clock of its own for one process. */
export class SetClock {
  readonly #file: string;
  readonly environment: Record<string, string>;

  constructor(file: string) {
    this.#file = file;
    this.set(0);
    this.environment = {
      LD_PRELOAD: findLibrary(),
      FAKETIME_TIMESTAMP_FILE: file,
      FAKETIME_NO_CACHE: "1",
      FAKETIME_DONT_FAKE_MONOTONIC: "1",
    };
  }

  set(offsetSeconds: number): void {
    // Whole or not at all: the process reads it at any moment.
    writeFileSync(`${this.#file}.new`, `${offsetSeconds < 0 ? "" : "+"}${offsetSeconds}\n`);
    renameSync(`${this.#file}.new`, this.#file);
  }
}
