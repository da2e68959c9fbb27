/** A machine in memory on which calls fail, before or behind their effect, and somebody else works meanwhile. */
import { hostError } from "../../../lib/host/host-error.ts";
import type { Host, HostBackups, HostFiles } from "../../../lib/host/host.ts";
import type { MemoryHost } from "../../../lib/host/memory-host.ts";
import type { Oracle } from "./oracle.ts";

/** What happens at one call. */
export type Fault =
  /** The machine refuses. */
  | { kind: "refused"; errno: string }
  /** Something unforeseen breaks before the effect, or behind it, or the effect is not there and nobody says so. */
  | { kind: "broken" | "broken behind" | "lost" }
  /** The process dies before the call, or right behind its effect. */
  | { kind: "killed" | "killed behind" }
  /** The operation is cancelled. */
  | { kind: "cancelled" }
  /** Somebody else does something first. */
  | { kind: "edited"; edit: () => void };

/** What is done at which call, and by whom. */
export interface FaultPlan {
  /** By the number of the call, from 0. */
  at: ReadonlyMap<number, Fault>;
  /** Called when the process dies: nothing that it does from then on happens. */
  die: () => void;
  cancel: () => void;
  /** Called where something is not as it should be. */
  failed: () => void;
  /** Called when all that was done so far would survive a loss of power. */
  durable: () => void;
}

const changing: ReadonlySet<string> = new Set([
  "writeFile",
  "makeDirectory",
  "makeSymlink",
  "setAttributes",
  "removeFile",
  "removeDirectory",
  "restore",
  "run",
]);
const counted: ReadonlySet<string> = new Set([
  ...changing,
  "stat",
  "readFile",
  "hashFile",
  "compareFile",
  "readLink",
  "list",
  "save",
  "barrier",
]);

/** The machine as the process of one life sees it. */
export class FaultyHost {
  readonly host: Host;
  calls = 0;
  #isDead = false;
  readonly #plan: FaultPlan;
  readonly #oracle: Oracle;

  constructor(host: MemoryHost, oracle: Oracle, plan: FaultPlan) {
    this.#plan = plan;
    this.#oracle = oracle;
    this.host = {
      platform: host.platform,
      isConfined: host.isConfined,
      mark: host.mark,
      users: host.users,
      files: this.#wrap<HostFiles>(host.files),
      backups: this.#wrap<HostBackups>(host.backups),
      sha256: (content) => host.sha256(content),
      run: async (command, signal) => {
        // A judge changes nothing of the machine.
        const name = command.asks === true || command.judges === true ? "asks" : "run";
        return this.#call(name, () => host.run(command, signal));
      },
      download: (request, signal) => host.download(request, signal),
      barrier: async () => {
        await this.#call("barrier", () => host.barrier());
        this.#plan.durable();
      },
    };
  }

  #wrap<Part extends HostFiles | HostBackups>(part: Part): Part {
    return new Proxy(part, {
      get: (target, name) => {
        const member: unknown = Reflect.get(target, name, target);
        if (typeof member !== "function") return member;
        return (...args: unknown[]): unknown => {
          const act = (): unknown => Reflect.apply(member, target, args);
          if (name === "below") return this.#wrap(act() as Part);
          if (name === "prune" && this.#isDead) return undefined;
          const value = this.#call(String(name), act);
          if (name === "save") this.#oracle.saved((value as { sha256: string }).sha256);
          return value;
        };
      },
    });
  }

  #call<T>(name: string, act: () => T): T {
    if (this.#isDead) throw new Error("The process is dead.");
    if (!counted.has(name)) return act();
    const fault = this.#plan.at.get(this.calls);
    this.calls += 1;
    if (fault && fault.kind !== "edited" && fault.kind !== "cancelled") this.#plan.failed();
    if (fault) this.#before(fault, name);
    const isLost = fault?.kind === "lost" && changing.has(name);
    const value = isLost ? (undefined as T) : act();
    if (isLost && name === "run") return { exitCode: 0, stdout: "", stderr: "" } as T;
    if (changing.has(name)) this.#oracle.notice("us");
    if (fault) this.#behind(fault);
    return value;
  }

  #before(fault: Fault, name: string): void {
    if (fault.kind === "edited") {
      fault.edit();
      this.#oracle.notice("somebody else");
    } else if (fault.kind === "cancelled") this.#plan.cancel();
    else if (fault.kind === "refused") throw hostError(name, fault.errno);
    else if (fault.kind === "broken") throw new Error("It broke.");
    else if (fault.kind === "killed") this.#die();
  }

  #behind(fault: Fault): void {
    if (fault.kind === "broken behind") throw new Error("It broke behind.");
    if (fault.kind === "killed behind") this.#die();
  }

  #die(): never {
    this.#isDead = true;
    this.#plan.die();
    throw new Error("The process is dead.");
  }
}
