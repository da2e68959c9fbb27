/**
 * A copy of this machine that boots in namespaces of its own, with an init system of its own, and is gone afterwards.
 *
 * It has the files of this one and everything that is installed here, but what is written stays in memory. Nothing that
 * this machine starts by itself is started in it. The kernel's settings are read-only.
 */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { lstatSync, mkdtempSync, realpathSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { createInterface, type Interface } from "node:readline";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { RelayedHost } from "./relayed-host.ts";

/** What runs the machine. */
export interface ThrowawayMachineOptions {
  /** Process 1. `reaper` takes orphans away when they end. Default: one that does nothing. */
  init?: "none" | "reaper" | "systemd" | "openrc";
  /** Folder of Debian packages to install before the first boot. */
  packages?: string;
  /** `shared` is this machine's. Default: loopback alone. */
  network?: "own" | "shared";
}

/** Where the repository is on the machine. */
export const sourceFolder = "/opt/fleetwright";

const script = fileURLToPath(new URL("throwaway-machine.sh", import.meta.url));
const relayProcess = fileURLToPath(new URL("relay-process.ts", import.meta.url));
const source = fileURLToPath(new URL("../../..", import.meta.url));
const searchPath = "/usr/sbin:/usr/bin:/sbin:/bin";

/** How long an init system may take to start a machine, milliseconds. */
const bootTimeoutMs = 60_000;

/** A machine that runs. */
export class ThrowawayMachine implements AsyncDisposable {
  readonly #init: ThrowawayMachineOptions["init"];
  readonly #folder: string;
  readonly #child: ChildProcess;
  readonly #exited: Promise<unknown>;
  readonly #lines: Interface;
  #stderr = "";
  #process = "";
  #host: RelayedHost | undefined;

  /** Resolves when its init system has started what it starts. */
  static async boot(options: ThrowawayMachineOptions = {}): Promise<ThrowawayMachine> {
    const machine = new ThrowawayMachine(options);
    await machine.#booted();
    return machine;
  }

  private constructor({ init = "none", packages = "", network = "own" }: ThrowawayMachineOptions) {
    this.#init = init;
    const env = {
      PATH: searchPath,
      SOURCE: source,
      MODULES: realpathSync(join(source, "node_modules")),
      INIT: init,
      PACKAGES: packages,
      NETWORK: network,
    };
    // The script removes it.
    this.#folder = mkdtempSync(join(tmpdir(), "fleetwright-machine-"));
    const args = ["--mount", "sh", script, this.#folder];
    this.#child = spawn("unshare", args, { env, stdio: ["pipe", "pipe", "pipe"] });
    this.#exited = once(this.#child, "close");
    this.#child.stderr?.on("data", (piece: Buffer) => (this.#stderr += piece.toString()));
    if (!this.#child.stdout) throw new Error("unreachable: its output is piped");
    this.#lines = createInterface({ input: this.#child.stdout });
  }

  /** Its files and programs. */
  get host(): RelayedHost {
    if (!this.#host) throw new Error("The machine is not running.");
    return this.#host;
  }

  /** Words put before a command to run it on the machine. */
  get enter(): [string, ...string[]] {
    return ["nsenter", "--target", this.#process, "--all", "--root", "--wd", "--"];
  }

  /** Takes its power away and boots it again. */
  async restart(): Promise<void> {
    await this.#host?.[Symbol.asyncDispose]();
    this.#child.stdin?.write("\n");
    await this.#booted();
  }

  /** Runs a program on it, past our own code. */
  run(...argv: readonly [string, ...string[]]): { status: number | null; stdout: string; stderr: string } {
    const [program, ...enter] = this.enter;
    const env = { PATH: searchPath, LC_ALL: "C", HOME: "/root" };
    // A pipe of Node is a socket: a bash whose input is one takes itself for a remote shell, and reads ~/.bashrc of the machine copied.
    const stdio = ["ignore", "pipe", "pipe"] as const;
    return spawnSync(program, [...enter, ...argv], { encoding: "utf8", env, stdio: [...stdio] });
  }

  /** What a program prints; an error where it fails. */
  output(program: string, ...args: string[]): string {
    const { status, stdout, stderr } = this.run(program, ...args);
    if (status === 0) return stdout;
    throw new Error(`${program} ${args.join(" ")} exited with ${status}: ${stderr}${stdout}`);
  }

  /** The exit code of a program. */
  exitCode(program: string, ...args: string[]): number | null {
    return this.run(program, ...args).status;
  }

  /** Writes a file, and makes the folders above it. */
  write(path: string, content: string, mode = 0o644): void {
    this.output("mkdir", "-p", join(path, ".."));
    this.host.files.writeFile(path, Buffer.from(content), { mode });
  }

  /** What it has and the machine that it copies has not, and the other way round, with a minus sign. */
  differences(): string[] {
    // What is written goes there; what was removed is a device there.
    const written = `/proc/${this.#child.pid}/root${this.#folder}/upper`;
    const { stdout } = spawnSync("find", [written, "-mindepth", "1", "-printf", "%y /%P\n"], {
      encoding: "utf8",
    });
    return stdout.split("\n").flatMap((line) => {
      const [kind, path] = [line.slice(0, 1), line.slice(2)];
      if (kind === "c") return [`-${path}`];
      return path === "" || lstatSync(path, { throwIfNoEntry: false }) ? [] : [path];
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#host?.[Symbol.asyncDispose]();
    this.#child.stdin?.end();
    await this.#exited;
  }

  async #booted(): Promise<void> {
    try {
      const ended = this.#exited.then(() => [""]);
      [this.#process = ""] = (await Promise.race([once(this.#lines, "line"), ended])) as string[];
      if (this.#process === "") throw new Error("It ended.");
      const deadline = performance.now() + bootTimeoutMs;
      while (!this.#isUp()) {
        if (performance.now() > deadline) throw new Error("It takes too long.");
        await pause(50);
      }
    } catch (cause) {
      await this[Symbol.asyncDispose]();
      throw new Error(`The machine did not boot: ${this.#stderr}`, { cause });
    }
    const relay = join(sourceFolder, relative(source, relayProcess));
    const tsx = join(sourceFolder, "../node_modules/tsx/dist/loader.mjs");
    const stateFolder = "/var/lib/fleetwright-test";
    this.#host = new RelayedHost([...this.enter, process.execPath, "--import", tsx, relay, stateFolder]);
  }

  #isUp(): boolean {
    if (this.#init === "none" || this.#init === "reaper") return true;
    if (this.#init === "openrc") return this.run("rc-status", "--runlevel").stdout === "default\n";
    // Degraded: something that this machine has can't run in a namespace.
    return /^(running|degraded)$/m.test(this.run("systemctl", "is-system-running").stdout);
  }
}
