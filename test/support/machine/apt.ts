/** apt and dpkg on a machine in memory: an archive, an index of it that may be old, and what is installed. */
import type { HostCommandResult } from "../../../lib/host/host.ts";
import { MemoryHost, type MemoryProgram } from "../../../lib/host/memory-host.ts";
import { lawFolder } from "../../../lib/testing/resource-laws.ts";

interface Installed {
  version: string;
  held: boolean;
  status: "installed" | "config-files";
}

/** What can be said of the machine before it is used. */
export interface AptOptions {
  /** Versions by package, the newest last. */
  archive: Record<string, string[]>;
  /** Whether the index was fetched a moment ago. Default: yes. */
  fresh?: boolean;
  /** Package -> packages that need it. */
  dependents?: Record<string, string[]>;
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
  readonly #brings: Record<string, () => void>;

  constructor({ archive, fresh = true, dependents = {}, brings = {}, programs = {} }: AptOptions) {
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

  /** "name version" of each, "name version held" of those that are. */
  list(): string[] {
    const there = [...this.installed].filter(([, { status }]) => status === "installed");
    return there.map(([name, { version, held }]) => `${name} ${version}${held ? " held" : ""}`).sort();
  }

  #programs(): Record<string, MemoryProgram> {
    return {
      "/usr/bin/apt-get": ({ argv }) => this.#aptGet(argv.slice(1)),
      "apt-cache": ({ argv }) => this.#policy(argv.slice(argv.indexOf("--") + 1)),
      "dpkg-query": ({ argv }) => this.#query(argv.slice(5)),
      "apt-mark": ({ argv }) => this.#mark(argv[1] === "hold", argv.slice(3)),
      dpkg: ({ argv }) => this.#note(`dpkg ${argv.slice(1).join(" ")}`),
      find: () => ({ stdout: this.fresh ? "/var/lib/apt/lists/partial\n" : "" }),
    };
  }

  #note(command: string): Partial<HostCommandResult> {
    this.commands.push(command);
    return {};
  }

  #aptGet(args: string[]): Partial<HostCommandResult> {
    const verb = args.find((arg) => ["update", "install", "remove", "purge"].includes(arg)) ?? "";
    const names = args.includes("--") ? args.slice(args.indexOf("--") + 1) : [];
    const simulated = args.includes("-s");
    this.#note([simulated ? "simulate" : "", verb, ...names].filter((word) => word !== "").join(" "));
    if (verb === "update") {
      this.index = this.archive;
      this.fresh = true;
      return {};
    }
    if (verb === "install") return this.#install(names, args.includes("--allow-downgrades"));
    const leaving = names.flatMap((name) => [name, ...(this.#dependents[name] ?? [])]);
    const there = leaving.filter((name) => this.installed.get(name)?.status === "installed");
    if (simulated) return { stdout: there.map((name) => `Remv ${name} [1]\n`).join("") };
    if (there.some((name) => this.installed.get(name)?.held)) return held;
    for (const name of leaving) {
      const found = this.installed.get(name);
      if (verb === "purge" || !found) this.installed.delete(name);
      else found.status = "config-files";
    }
    return {};
  }

  #install(requests: string[], downgrades: boolean): Partial<HostCommandResult> {
    for (const request of requests) {
      const [name = "", wanted] = request.split("=");
      const known = this.index[name] ?? [];
      const matching = known.filter((each) => wanted === undefined || matches(wanted, each));
      const version = matching.at(-1);
      if (version === undefined) return { exitCode: 100, stderr: `E: Unable to locate package ${name}\n` };
      const old = this.installed.get(name);
      if (old?.held && old.version !== version) return held;
      const isOlder = old && known.indexOf(version) < known.indexOf(old.version);
      if (isOlder && !downgrades) return { exitCode: 100, stderr: "E: Packages were downgraded\n" };
      this.installed.set(name, { version, held: old?.held ?? false, status: "installed" });
      if (old?.status !== "installed") this.#brings[name]?.();
    }
    return {};
  }

  #policy(names: string[]): Partial<HostCommandResult> {
    const known = names.filter((name) => name in this.index);
    const blocks = known.map((name) => {
      const there = this.installed.get(name);
      const installed = there?.status === "installed" ? there.version : "(none)";
      return `${name}:\n  Installed: ${installed}\n  Candidate: ${this.index[name]?.at(-1)}\n  Version table:\n`;
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
