/** A command at a terminal that another program emulates: what stands on its screen, as somebody sees it. */
import { execFileSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { eventually } from "./processes.ts";

/** Title of a terminal whose command has ended. */
const ended = "the command has ended";

/** Size of the terminal, and what the command has for an environment. */
export interface TmuxOptions {
  /** Folder of the socket. */
  folder: string;
  columns: number;
  rows: number;
  environment: Record<string, string>;
}

export class Tmux implements Disposable {
  readonly #socket: string;
  /** Where the exit code of the command comes to stand: tmux itself at times never asks for it. */
  readonly #codeFile: string;

  /** @param argv - The command. */
  constructor(argv: readonly string[], { folder, columns, rows, environment }: TmuxOptions) {
    this.#socket = join(folder, "tmux");
    this.#codeFile = join(folder, `code-${randomUUID()}`);
    const variables = Object.entries(environment).flatMap(([name, value]) => ["-e", `${name}=${value}`]);
    const size = ["-x", String(columns), "-y", String(rows)];
    // The server of the first session takes the setting before the command has a window.
    this.#begin();
    this.#tell("set-option", "-g", "status", "off");
    this.#tell("new-session", "-d", "-s", "main", ...size, ...variables, "--", ...this.#noted(argv));
  }

  /** On a busy machine a server may end again before it has its first session: then nothing was begun. */
  #begin(tries = 5): void {
    try {
      this.#tell("-f", "/dev/null", "new-session", "-d", "-s", "keeper", "sleep 1000");
    } catch (error) {
      if (tries === 1 || !String(error).includes("server exited unexpectedly")) throw error;
      this.#begin(tries - 1);
    }
  }

  /** What the terminal shows now, a line a line, without the spaces at their ends. */
  get screen(): string {
    return this.#tell("capture-pane", "-p", "-t", "main");
  }

  /** Resolves when the screen matches. */
  async shows(pattern: RegExp): Promise<void> {
    try {
      await eventually(`the screen shows ${pattern}`, () => pattern.test(this.screen));
    } catch (cause) {
      throw new Error(`The screen has no ${pattern}:\n${this.screen}`, { cause });
    }
  }

  type(text: string): void {
    this.#tell("send-keys", "-t", "main", "-l", "--", text);
  }

  /** @param names - As tmux calls them, e.g. `Enter` or `C-c`. */
  press(...names: string[]): void {
    this.#tell("send-keys", "-t", "main", ...names);
  }

  enter(line: string): void {
    this.type(line);
    this.press("Enter");
  }

  resize(columns: number, rows: number): void {
    this.#tell("resize-window", "-t", "main", "-x", String(columns), "-y", String(rows));
  }

  /** Resolves with the exit code of the command. */
  async exited(): Promise<number> {
    await eventually("the command has ended", () => existsSync(this.#codeFile));
    // It comes behind all that the command wrote, which tmux may not have read yet.
    await eventually("all that it wrote is on the screen", () => this.#ask("#{pane_title}") === ended);
    return Number(readFileSync(this.#codeFile, "utf8"));
  }

  /** What is set at the terminal now: its screen and what the mouse does. */
  get modes(): string {
    return this.#ask("#{alternate_on} #{mouse_any_flag} #{cursor_flag}");
  }

  [Symbol.dispose](): void {
    this.#tell("kill-server");
  }

  #ask(format: string): string {
    return this.#tell("display-message", "-p", "-t", "main", format).trim();
  }

  #noted(argv: readonly string[]): string[] {
    // Ctrl-C ends the command alone, as under a shell. What it leaves of the terminal stays: tmux hides the cursor of one whose program ended.
    const script = `file=$1; shift; trap : INT; "$@"; echo $? > "$file.new"; mv "$file.new" "$file"; printf '\\033]2;%s\\007' '${ended}'; exec sleep 1000`;
    return ["/bin/sh", "-c", script, "sh", this.#codeFile, ...argv];
  }

  #tell(...args: string[]): string {
    const env = {
      PATH: process.env["PATH"] ?? "",
      LANG: "C.UTF-8",
      TERM: "xterm-256color",
      SHELL: "/bin/sh",
    };
    return execFileSync("tmux", ["-u", "-S", this.#socket, ...args], { encoding: "utf8", env });
  }
}
