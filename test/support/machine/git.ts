import { createHash } from "node:crypto";
import type { HostCommand, HostCommandResult, HostFiles } from "../../../lib/host/host.ts";
import type { MemoryProgram } from "../../../lib/host/memory-host.ts";

/** A repository somewhere else: commits by their hash, each with the content of its files, and what branches and tags name. */
export interface ModelRepository {
  refs: Record<string, string>;
  commits: Record<string, Record<string, string>>;
}

type Answer = Partial<HostCommandResult>;

const text = (files: HostFiles, path: string): string => Buffer.from(files.readFile(path)).toString();

/** `git`, as far as the resource type asks for it, for repositories by their address; and `rm -rf` and `sync`. */
export function gitPrograms(
  files: () => HostFiles,
  repositories: Readonly<Record<string, ModelRepository>>,
): Record<string, MemoryProgram> {
  return {
    git: (command) => new ModelGit(files(), repositories).run(command),
    rm({ argv, cwd = "" }) {
      for (const path of argv.slice(3)) removeAll(files(), `${cwd}${path.replace(/^\./, "")}`);
      return {};
    },
    sync: () => ({}),
    // Only what compares a file with the beginnings of what it was to be: here each is written at once.
    sh: () => ({ exitCode: 1 }),
  };
}

const none = "0".repeat(40);
const idOf = (content: string): string => createHash("sha1").update(content).digest("hex");

function removeAll(files: HostFiles, path: string): void {
  const stat = files.stat(path);
  if (stat?.kind !== "directory") return files.removeFile(path);
  for (const name of files.list(path)) removeAll(files, `${path}/${name}`);
  files.removeDirectory(path);
}

class ModelGit {
  readonly #files: HostFiles;
  readonly #repositories: Readonly<Record<string, ModelRepository>>;
  #path = "";

  constructor(files: HostFiles, repositories: Readonly<Record<string, ModelRepository>>) {
    this.#files = files;
    this.#repositories = repositories;
  }

  run({ argv, cwd = "" }: HostCommand): Answer {
    const args = argv.slice(1);
    while (args[0] === "-c") args.splice(0, 2);
    this.#path = cwd;
    const [verb, ...rest] = args;
    switch (verb) {
      case "ls-remote":
        return this.#listRemote(rest[1] ?? "", rest.slice(2));
      case "init":
        return this.#init();
      case "config":
        return this.#config(rest);
      case "rev-parse":
        return this.#parse(rest);
      case "cat-file":
        return { exitCode: (rest[1] ?? "").replace("^{commit}", "") in this.#objects() ? 0 : 128 };
      case "fetch":
        return this.#fetch();
      case "checkout":
        return this.#checkout(rest.at(-1) ?? "");
      case "status":
        return this.#status(rest);
      case "ls-tree":
        return { stdout: this.#list(rest.at(-1) ?? "") };
      case "diff-tree":
        return { stdout: this.#compare(rest.at(-2) ?? "", rest.at(-1) ?? "") };
      case "diff-index":
        return { exitCode: this.#head() === rest.at(-1) ? 0 : 1 };
      case "hash-object":
        return {
          stdout: rest
            .slice(1)
            .map((name) => `${idOf(text(this.#files, this.#at(name)))}\n`)
            .join(""),
        };
      case "checkout-index":
        return this.#restore(rest.slice(rest.indexOf("--") + 1));
      // Nobody makes commits of their own.
      case "log":
        return { stdout: `${this.#head() ?? ""} checkout: moving from main to what was wanted\n` };
      case "rev-list":
        return {};
      default:
        return { exitCode: 1, stderr: `git: '${verb}' is not a git command\n` };
    }
  }

  #listRemote(url: string, names: readonly string[]): Answer {
    const repository = this.#repositories[url];
    if (!repository) return { exitCode: 128, stderr: `fatal: repository '${url}' not found\n` };
    const lines = Object.entries(repository.refs).filter(([ref]) => names.includes(ref));
    return { stdout: lines.map(([ref, hash]) => `${hash}\t${ref}\n`).join("") };
  }

  #init(): Answer {
    if (this.#files.stat(this.#at(".git"))) return {};
    this.#files.makeDirectory(this.#at(".git"), { mode: 0o755 });
    this.#files.makeDirectory(this.#at(".git/refs"), { mode: 0o755 });
    this.#write(".git/HEAD", "ref: refs/heads/main\n");
    this.#write(".git/config", "{}");
    this.#write(".git/objects", "{}");
    return {};
  }

  #config(rest: readonly string[]): Answer {
    const config = this.#json<string>(".git/config");
    if (rest[0] === "--get" || rest[0] === "--get-all") {
      const value = config[rest[1] ?? ""];
      return value === undefined ? { exitCode: 1 } : { stdout: `${value}\n` };
    }
    if (rest[1] === "--get-regexp") {
      const found = Object.entries(config).filter(([key]) => new RegExp(rest[2] ?? "").test(key));
      if (found.length === 0) return { exitCode: 1 };
      return { stdout: found.map(([key, value]) => `${key}\n${value}\0`).join("") };
    }
    if (rest[0] === "--unset-all") {
      const { [rest[1] ?? ""]: _, ...others } = config;
      this.#write(".git/config", JSON.stringify(others));
      return {};
    }
    const [name = "", value] = rest.filter((word) => word !== "--replace-all");
    this.#write(".git/config", JSON.stringify({ ...config, [name]: value }));
    return {};
  }

  #parse(rest: readonly string[]): Answer {
    const head = this.#head();
    if (rest[1]?.startsWith("HEAD"))
      return { exitCode: head === null ? 128 : 0, stdout: `.git\n${head ?? rest[1]}\n` };
    if (rest[0] === "--git-dir") return { stdout: ".git\n" };
    return head === null ? { exitCode: 1 } : { stdout: `${head}\n` };
  }

  #fetch(): Answer {
    const repository = this.#repositories[this.#json<string>(".git/config")["remote.origin.url"] ?? ""];
    if (!repository) return { exitCode: 128, stderr: "fatal: repository not found\n" };
    this.#write(".git/objects", JSON.stringify({ ...this.#objects(), ...repository.commits }));
    return {};
  }

  #checkout(commit: string): Answer {
    const objects = this.#objects();
    for (const name of Object.keys(objects[this.#head() ?? ""] ?? {})) {
      if (this.#files.stat(this.#at(name))) this.#files.removeFile(this.#at(name));
    }
    for (const [name, content] of Object.entries(objects[commit] ?? {})) this.#write(name, content);
    this.#write(".git/HEAD", `${commit}\n`);
    return {};
  }

  #status(rest: readonly string[]): Answer {
    const excluded = rest.map((word) => word.replace(":(exclude,literal)", ""));
    const tracked = this.#objects()[this.#head() ?? ""] ?? {};
    const lines = Object.entries(tracked)
      .filter(([name, content]) => {
        if (excluded.includes(name)) return false;
        const path = this.#at(name);
        return !this.#files.stat(path) || text(this.#files, path) !== content;
      })
      .map(([name]) => name);
    const strange = this.#files
      .list(this.#path)
      .filter((name) => name !== ".git" && !(name in tracked))
      .filter((name) => !excluded.some((path) => path === name || path.startsWith(`${name}/`)));
    if (rest.includes("--porcelain=v2")) {
      const changed = lines.map((name) => {
        const code = this.#files.stat(this.#at(name)) ? ".M" : ".D";
        return `1 ${code} N... 100644 100644 100644 ${none} ${none} ${name}\0`;
      });
      return { stdout: [...changed, ...strange.map((name) => `? ${name}\0`)].join("") };
    }
    const told = lines.map((name) => ` M ${name}\n`);
    if (rest.includes("--untracked-files=normal")) told.push(...strange.map((name) => `?? ${name}\n`));
    return { stdout: told.join("") };
  }

  #list(commit: string): string {
    const tree = Object.entries(this.#objects()[commit] ?? {});
    return tree.map(([name, content]) => `100644 blob ${idOf(content)}\t${name}\0`).join("");
  }

  #compare(from: string, to: string): string {
    const [before = {}, after = {}] = [this.#objects()[from], this.#objects()[to]];
    const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
    const entry = (content: string | undefined): [string, string] =>
      content === undefined ? ["000000", none] : ["100644", idOf(content)];
    return names
      .filter((name) => before[name] !== after[name])
      .map((name) => {
        const [[mode, id], [newMode, newId]] = [entry(before[name]), entry(after[name])];
        return `:${mode} ${newMode} ${id} ${newId} M\0${name}\0`;
      })
      .join("");
  }

  #restore(names: readonly string[]): Answer {
    const tracked = this.#objects()[this.#head() ?? ""] ?? {};
    for (const name of names) {
      const content = tracked[name];
      if (content === undefined) return { exitCode: 1 };
      if (!this.#files.stat(this.#at(name))) this.#write(name, content);
    }
    return {};
  }

  #head(): string | null {
    const head = text(this.#files, this.#at(".git/HEAD")).trim();
    return head.startsWith("ref:") ? null : head;
  }

  #objects(): Record<string, Record<string, string>> {
    return this.#json<Record<string, string>>(".git/objects");
  }

  #json<T>(name: string): Record<string, T> {
    return JSON.parse(text(this.#files, this.#at(name))) as Record<string, T>;
  }

  #write(name: string, content: string): void {
    this.#files.writeFile(this.#at(name), Buffer.from(content), { mode: 0o644 });
  }

  #at(name: string): string {
    return `${this.#path}/${name}`;
  }
}
