/** A command of the built command line at a terminal of its own, as `script` makes one. */
import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

const program = fileURLToPath(new URL("../../dist/program/main.js", import.meta.url));

export class Terminal implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly #exited: Promise<unknown>;
  /** Whether it has ended and all that it wrote was read. */
  #isOver = false;
  /** What the terminal shows: both outputs, and what was typed. */
  screen = "";

  /**
   * @param command - Arguments as a shell takes them, with what they are redirected to.
   * @param home - Folder of the key and the profile.
   */
  constructor(command: string, home: string) {
    if (!existsSync(program)) throw new Error("There is no build: run `npm run build` first.");
    // In the place of the shell, which Ctrl-C would end as well.
    const line = `exec '${process.execPath}' '${program}' ${command}`;
    const env = {
      PATH: process.env["PATH"] ?? "",
      HOME: "/nonexistent",
      SHELL: "/bin/sh",
      FLEETWRIGHT_HOME: home,
    };
    this.#child = spawn("script", ["-qec", line, "/dev/null"], { env, stdio: ["pipe", "pipe", "pipe"] });
    this.#exited = once(this.#child, "close").finally(() => (this.#isOver = true));
    this.#child.stdout?.setEncoding("utf8").on("data", (piece: string) => (this.screen += piece));
  }

  /** Resolves when the screen has this text; rejects when the command ends before. */
  async shows(text: string): Promise<void> {
    while (!this.screen.includes(text)) {
      if (this.#isOver) throw new Error(`It ended with ${this.#child.exitCode}: ${this.screen}`);
      const stopped = new AbortController();
      const more = once(this.#child.stdout!, "data", { signal: stopped.signal }).catch(() => {});
      await Promise.race([more, this.#exited]);
      stopped.abort();
    }
  }

  /** Presses keys. */
  type(keys: string): void {
    this.#child.stdin?.write(keys);
  }

  /** Resolves with the exit code. */
  async exited(): Promise<number | null> {
    await this.#exited;
    return this.#child.exitCode;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child.exitCode === null && this.#child.signalCode === null) this.#child.kill("SIGKILL");
    await this.#exited;
  }
}
