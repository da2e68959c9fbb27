/** A machine that refuses one call, once: every call that reads it, changes it or runs a program counts. */
import { hostError } from "../../lib/host/host-error.ts";
import type { Host } from "../../lib/host/host.ts";

/** A machine, and which of its calls was refused; null as long as none was. */
export interface FailingHost {
  host: Host;
  failed(): string | null;
}

const parts: ReadonlySet<string> = new Set(["files", "backups"]);
/** What reaches the machine beside the calls of its parts. Not a barrier: a run ends where it fails, and test/faults/owned.test.ts goes on. */
const own: ReadonlySet<string> = new Set(["run", "download", "askDownload"]);

/** Has a call refused before it did anything, as where a disk can't be read or written; the first is 0. */
export function failCall(host: Host, at: number): FailingHost {
  let calls = 0;
  let failed: string | null = null;
  const counted =
    (name: string, act: (...args: unknown[]) => unknown) =>
    (...args: unknown[]): unknown => {
      calls += 1;
      if (calls - 1 !== at) return act(...args);
      const [about] = args;
      failed = typeof about === "string" ? `${name} ${about}` : `${name} ${JSON.stringify(about)}`;
      const error = hostError(typeof about === "string" ? about : name, "EIO");
      if (own.has(name)) return Promise.reject(error);
      throw error;
    };
  const wrap = <Part extends object>(part: Part, counts: (name: string) => boolean): Part =>
    new Proxy(part, {
      get(target, key) {
        const name = String(key);
        const member: unknown = Reflect.get(target, key, target);
        if (part === host && parts.has(name)) return wrap(member as object, () => true);
        if (typeof member !== "function") return member;
        const act = (...args: unknown[]): unknown => Reflect.apply(member, target, args);
        if (name === "below") return (...args: unknown[]) => wrap(act(...args) as object, () => true);
        return counts(name) ? counted(name, act) : act;
      },
    });
  return { host: wrap(host, (name) => own.has(name)), failed: () => failed };
}
