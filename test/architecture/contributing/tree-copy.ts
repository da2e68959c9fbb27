/** A copy of the repository that may be changed and built. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  existsSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { text } from "node:stream/consumers";
import { temporaryFolder } from "../../support/temporary-folder.ts";
import { repository } from "../source-tree.ts";
import type { Change } from "./change.ts";

/** What is not copied: it is large, or made. */
const left = new Set(["node_modules", "dist", "coverage", ".git"]);

/** How a program ended. */
export interface Ended {
  code: number | null;
  output: string;
}

export class TreeCopy {
  readonly folder = temporaryFolder();

  constructor() {
    for (const name of readdirSync(repository)) {
      if (!left.has(name)) cpSync(join(repository, name), join(this.folder, name), { recursive: true });
    }
    symlinkSync(join(repository, "node_modules"), join(this.folder, "node_modules"));
  }

  /** Makes a change by hand. */
  make({ path, edit }: Change): void {
    const target = join(this.folder, path);
    const before = existsSync(target) ? readFileSync(target, "utf8") : null;
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, edit(before));
  }

  /** Runs a program of the packages that the repository has. */
  async run(program: string, ...input: string[]): Promise<Ended> {
    const env = Object.fromEntries(
      Object.entries(process.env).filter(([name]) => !/^(NODE_ENV$|VITE)/.test(name)),
    );
    const path = `${join(repository, "node_modules/.bin")}:${env["PATH"] ?? ""}`;
    const child = spawn(program, input, {
      cwd: this.folder,
      env: { ...env, PATH: path, NO_COLOR: "1" },
      stdio: ["ignore", "pipe", "pipe"],
    });
    const [[code], out, errors] = await Promise.all([
      once(child, "close") as Promise<[number | null]>,
      text(child.stdout),
      text(child.stderr),
    ]);
    return { code, output: `${out}${errors}` };
  }
}
