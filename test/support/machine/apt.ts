/** apt and dpkg on a machine in memory: an archive, an index of it that may be old, and what is installed. */
import type { HostCommandResult } from "../../../lib/host/host.ts";
import { MemoryHost, type MemoryProgram } from "../../../lib/host/memory-host.ts";
import { lawFolder } from "../../../lib/testing/resource-laws.ts";

interface Installed {
  version: string;
  held: boolean;
  status: "installed" | "config-files";
  /** Came along with another. */
  auto?: boolean;
}

/** What can be said of the machine before it is used. */
export interface AptOptions {
  /** Versions by package, the newest last. */
  archive: Record<string, string[]>;
  /** Whether the index was fetched a moment ago. Default: yes. */
  fresh?: boolean;
  /** Package -> packages that need it. */
  dependents?: Record<string, string[]>;
  /** Package -> packages that it needs; they come along. */
  depends?: Record<string, string[]>;
  /** Package -> packages that it can't stand beside. */
  conflicts?: Record<string, string[]>;
  /** What else comes with a package. */
  brings?: Record<string, () => void>;
  /** Other programs of the machine. */
  programs?: Record<string, MemoryProgram>;
}

/** The model; `commands` are the lines that were run, without options that are always the same. */
export class AptMachine {
  readonly installed = new Map<string, Installed>();
  readonly commands: string[] = [];
  readonly host: MemoryHost;
  archive: Record<string, string[]>;
  index: Record<string, string[]>;
  fresh: boolean;
  readonly #dependents: Record<string, string[]>;
  readonly #depends: Record<string, string[]>;
  readonly conflicts: Record<string, string[]>;
  readonly #brings: Record<string, () => void>;

  constructor(options: AptOptions) {
    const { archive, fresh = true, dependents = {}, brings = {}, programs = {} } = options;
    this.#depends = options.depends ?? {};
    this.conflicts = options.conflicts ?? {};
    this.archive = archive;
    this.index = fresh ? archive : {};
    this.fresh = fresh;
    this.#dependents = dependents;
    this.#brings = brings;
    this.host = new MemoryHost({ programs: { ...this.#programs(), ...programs } });
    for (const path of ["/usr", "/usr/bin", "/var", "/var/lib", "/var/lib/apt", "/var/lib/apt/lists"])
      this.host.files.makeDirectory(path, {});
    this.host.files.makeDirectory("/var/lib/apt/lists/partial", {});
    this.host.files.makeDirectory(lawFolder, {});
    this.host.files.writeFile("/usr/bin/apt-get", new Uint8Array(), { mode: 0o755 });
  }

  install(name: string, version: string, more: Partial<Installed> = {}): void {
    this.installed.set(name, { version, held: false, status: "installed", ...more });
  }

  /** "name version" of each, with "held" and "auto" behind it for those that are. */
  list(): string[] {
    const there = [...this.installed].filter(([, { status }]) => status === "installed");
    return there
      .map(
        ([name, { version, held, auto }]) => `${name} ${version}${held ? " held" : ""}${auto ? " auto" : ""}`,
      )
      .sort();
  }

  #programs(): Record<string, MemoryProgram> {
    return {
      "/usr/bin/apt-get": ({ argv }) => this.#aptGet(argv.slice(1)),
      "apt-cache": ({ argv }) => this.#policy(argv.slice(argv.indexOf("--") + 1)),
      "dpkg-query": ({ argv }) => (argv.length < 6 ? this.#all() : this.#query(argv.slice(5))),
      "apt-mark": ({ argv }) => this.#aptMark(argv.slice(1)),
      dpkg: ({ argv }) => this.#note(`dpkg ${argv.slice(1).join(" ")}`),
      find: () => ({ stdout: this.fresh ? "/var/lib/apt/lists/partial\n" : "" }),
    };
  }

  #note(command: string): Partial<HostCommandResult> {
    this.commands.push(command);
    return {};
  }

  #aptGet(args: string[]): Partial<HostCommandResult> {
    const verbs = ["update", "install", "remove", "purge", "autoremove"];
    const verb = args.find((arg) => verbs.includes(arg)) ?? "";
    const names = args.includes("--") ? args.slice(args.indexOf("--") + 1) : [];
    const simulated = args.includes("-s");
    if (!simulated) this.#note([verb, ...names].join(" "));
    if (verb === "update") {
      this.index = this.archive;
      this.fresh = true;
      return {};
    }
    if (verb === "install") return this.#install(names, args);
    const leaving = this.#leavingWith(names);
    if (args.includes("--auto-remove") || verb === "autoremove")
      leaving.push(...this.#unusedWithout(leaving));
    const there = leaving.filter((name) => this.#isThere(name));
    if (simulated) return { stdout: there.map((name) => `Remv ${name} [1]\n`).join("") };
    if (there.some((name) => this.installed.get(name)?.held)) return held;
    for (const name of leaving) {
      const found = this.installed.get(name);
      if (verb === "purge" || !found) this.installed.delete(name);
      else this.installed.set(name, { version: found.version, held: false, status: "config-files" });
    }
    return {};
  }

  #isThere(name: string): boolean {
    return this.installed.get(name)?.status === "installed";
  }

  #needs(name: string): readonly string[] {
    return this.#depends[name] ?? [];
  }

  /** The names, and all that need them. */
  #leavingWith(names: readonly string[]): string[] {
    const leaving = new Set(names);
    for (const name of leaving) {
      for (const other of this.#dependents[name] ?? []) leaving.add(other);
      for (const other of this.installed.keys()) if (this.#needs(other).includes(name)) leaving.add(other);
    }
    return [...leaving];
  }

  #unusedWithout(leaving: readonly string[]): string[] {
    const stays = [...this.installed.keys()].filter((name) => this.#isThere(name) && !leaving.includes(name));
    const used = new Set(stays.filter((name) => this.installed.get(name)?.auto !== true));
    for (const name of used) for (const other of this.#needs(name)) used.add(other);
    return stays.filter((name) => !used.has(name));
  }

  #install(requests: string[], args: readonly string[]): Partial<HostCommandResult> {
    const wanted = new Map<string, string | undefined>();
    for (const request of requests) {
      const [name = "", version] = request.split("=");
      wanted.set(name, version);
    }
    for (const [name] of wanted)
      for (const other of this.#needs(name)) if (!this.#isThere(other)) wanted.set(other, undefined);
    const goes = this.#leavingWith([...wanted.keys()].flatMap((name) => this.conflicts[name] ?? []));
    const there = goes.filter((name) => this.#isThere(name));
    const asked = new Set(requests.map((request) => request.split("=")[0]));
    const lines = there.map((name) => `Remv ${name} [1]\n`);
    for (const [name, version] of wanted) {
      const known = this.index[name] ?? [];
      const found = known.filter((each) => version === undefined || matches(version, each)).at(-1);
      if (found === undefined) return { exitCode: 100, stderr: `E: Unable to locate package ${name}\n` };
      const old = this.installed.get(name);
      if (args.includes("-s")) {
        lines.push(`Inst ${name} (${found} test [all])\n`);
        continue;
      }
      if (there.length > 0 && args.includes("--no-remove"))
        return { exitCode: 100, stderr: "E: Packages need to be removed but remove is disabled.\n" };
      if (old?.held && old.version !== found) return held;
      const isOlder = old && known.indexOf(found) < known.indexOf(old.version);
      if (isOlder && !args.includes("--allow-downgrades"))
        return { exitCode: 100, stderr: "E: Packages were downgraded\n" };
      const auto = asked.has(name) ? {} : { auto: true };
      this.installed.set(name, { version: found, held: old?.held ?? false, status: "installed", ...auto });
      if (old?.status !== "installed") this.#brings[name]?.();
    }
    if (args.includes("-s")) return { stdout: lines.join("") };
    for (const name of there) this.installed.delete(name);
    return {};
  }

  #all(): Partial<HostCommandResult> {
    return { stdout: [...this.installed].map(([name, { status }]) => `${name}\t${status}\n`).join("") };
  }

  #aptMark([verb = "", ...args]: string[]): Partial<HostCommandResult> {
    if (verb === "hold" || verb === "unhold") return this.#mark(verb === "hold", args.slice(1));
    const auto = args.filter((name) => this.installed.get(name)?.auto);
    if (verb === "showauto") return { stdout: auto.map((name) => `${name}\n`).join("") };
    for (const name of args) {
      const found = this.installed.get(name);
      if (found) found.auto = true;
    }
    return {};
  }

  #policy(names: string[]): Partial<HostCommandResult> {
    const known = names.filter((name) => name in this.index);
    const blocks = known.map((name) => {
      const there = this.installed.get(name);
      const installed = there?.status === "installed" ? there.version : "(none)";
      const rows = (this.index[name] ?? []).toReversed().map((version) => `     ${version} 500\n`);
      const candidate = this.index[name]?.at(-1);
      return `${name}:\n  Installed: ${installed}\n  Candidate: ${candidate}\n  Version table:\n${rows.join("")}`;
    });
    return { stdout: blocks.join("") };
  }

  #query(names: string[]): Partial<HostCommandResult> {
    const lines = names.flatMap((name) => {
      const found = this.installed.get(name);
      if (!found) return [];
      const want = found.held ? "hold" : found.status === "installed" ? "install" : "deinstall";
      return [`${name}\tamd64\t${want}\t${found.status}\t${found.version}\n`];
    });
    return { exitCode: lines.length < names.length ? 1 : 0, stdout: lines.join("") };
  }

  #mark(hold: boolean, names: string[]): Partial<HostCommandResult> {
    this.#note(`${hold ? "hold" : "unhold"} ${names.join(" ")}`);
    for (const name of names) {
      const found = this.installed.get(name);
      if (found) found.held = hold;
    }
    return {};
  }
}

const held = { exitCode: 100, stderr: "E: Held packages were changed and -y was used without --allow.\n" };

function matches(wanted: string, version: string): boolean {
  return wanted.endsWith("*") ? version.startsWith(wanted.slice(0, -1)) : version === wanted;
}
