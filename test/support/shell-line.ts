/** A real shell at a terminal in which lines are completed, with a `fleetwright` that notes what other commands were called with. */
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { eventually } from "./processes.ts";
import { temporaryFolder } from "./temporary-folder.ts";
import { Tmux } from "./tmux.ts";

const main = fileURLToPath(new URL("../../dist/program/main.js", import.meta.url));

/** How each shell is started so that it reads a file of ours alone, and what stands in that before the script. */
const shells = {
  bash: {
    file: ".bashrc",
    begin: "set +o history",
    argv: (rc: string) => ["bash", "--noprofile", "--rcfile", rc, "-i"],
  },
  zsh: { file: ".zshrc", begin: "autoload -U compinit; compinit -u -D", argv: () => ["zsh", "-d", "-i"] },
  fish: { file: ".config/fish/config.fish", begin: "set -g fish_greeting", argv: () => ["fish", "-i"] },
} as const;

export class ShellLine implements Disposable {
  readonly folder: string = temporaryFolder();
  readonly terminal: Tmux;
  readonly #called: string;

  /** @param url - The server of the profile; null for nobody who has signed in. */
  constructor(shell: keyof typeof shells, url: string | null) {
    const { folder } = this;
    const { file, begin, argv } = shells[shell];
    this.#called = join(folder, "called");
    // Where these are not there, fish makes them out of all manual pages, behind the shell's back, and writes on after its end.
    for (const each of ["bin", "home", ".config/fish", "data/fish/generated_completions", "work"])
      mkdirSync(join(folder, each), { recursive: true });
    const program = join(folder, "bin/fleetwright");
    writeFileSync(
      program,
      `#!/bin/sh
case $1 in complet*) exec '${process.execPath}' '${main}' "$@" ;; esac
printf '%s\\0' "$@" > '${this.#called}.new'; mv '${this.#called}.new' '${this.#called}'
`,
    );
    chmodSync(program, 0o755);
    if (url !== null) {
      const profile = { url, key: join(folder, "key"), token: "a-token" };
      writeFileSync(join(folder, "home/profile.json"), JSON.stringify(profile));
    }
    const source =
      shell === "fish" ? "fleetwright completion fish | source" : `source <(fleetwright completion ${shell})`;
    // tmux has its own PATH for what it starts.
    const bin = join(folder, "bin");
    const path = shell === "fish" ? `set -gx PATH '${bin}' $PATH` : `export PATH='${bin}':$PATH`;
    const rc = join(folder, file);
    writeFileSync(rc, `${begin}\n${path}\n${source}\ncd '${join(folder, "work")}'\necho is-ready\n`);
    this.terminal = new Tmux(argv(rc), {
      folder,
      columns: 120,
      rows: 40,
      environment: {
        HOME: folder,
        ZDOTDIR: folder,
        XDG_CONFIG_HOME: join(folder, ".config"),
        XDG_DATA_HOME: join(folder, "data"),
        FLEETWRIGHT_HOME: join(folder, "home"),
        LANG: "C.UTF-8",
      },
    });
  }

  /** Resolves once lines are read. */
  async ready(): Promise<this> {
    await this.terminal.shows(/^is-ready/m);
    return this;
  }

  /** Types the beginning of a line, has it completed, and runs it; resolves with the arguments that the program was called with. */
  async complete(line: string): Promise<string[]> {
    rmSync(this.#called, { force: true });
    this.terminal.type(line);
    this.terminal.press("Tab");
    this.terminal.press("Enter");
    try {
      await eventually(`${line} is run`, () => existsSync(this.#called));
    } catch (cause) {
      throw new Error(this.terminal.screen, { cause });
    }
    return readFileSync(this.#called, "utf8").split("\0").slice(0, -1);
  }

  [Symbol.dispose](): void {
    this.terminal[Symbol.dispose]();
  }
}
