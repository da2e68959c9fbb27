/** A storage of which any call can be had to fail: that of one who asked, and of what goes on because they did. */
import { AsyncLocalStorage } from "node:async_hooks";
import { OrchestratorError } from "fleetwright";
import type { BlobWriter, SeriesStorage, Storage } from "../../lib/storage/storage.ts";

/** What is counted of a storage. `open`, `close` and `follow` are none of them: these are the process's own. */
const counted: ReadonlySet<string> = new Set([
  "check",
  "get",
  "getMany",
  "count",
  "list",
  "commit",
  "readLog",
  "trimLog",
  "appendBlob",
  "openBlob",
  "readBlob",
  "lease",
]);

/** Whose calls are counted: one for all, as each makes every promise of the process slower, for as long as it is not disabled. */
const within = new AsyncLocalStorage<CountedCalls>();

/** The calls that something makes, one of which may fail: before it has done anything, as the port promises. */
export class CountedCalls {
  /** What was called, in order, with the collection, log or blob where it names one. */
  readonly made: string[] = [];
  /** Which call fails, from 0; null for none. */
  failing: number | null = null;

  /** Whether the call that was to fail has been made. */
  get hasFailed(): boolean {
    return this.failing !== null && this.made.length > this.failing;
  }

  /** Counts what is called from here, and from what this starts. */
  during<T>(act: () => Promise<T>): Promise<T> {
    return within.run(this, act);
  }

  /** @throws {OrchestratorError} `UNAVAILABLE` where it is this call's turn: as a storage in another place that can't be reached for once. */
  count(name: string): void {
    if (within.getStore() !== this) return;
    const isIt = this.made.length === this.failing;
    this.made.push(name);
    if (isIt) throw new OrchestratorError("UNAVAILABLE", { message: "It fails once." });
  }
}

/** Ends what {@link CountedCalls.during} began, for whoever comes next in the process. */
export function endCounting(): void {
  within.disable();
}

/** The storage with its calls counted, those of its series and of its blobs' writers included. */
export function countingStorage<Counted extends Storage>(storage: Counted, calls: CountedCalls): Counted {
  const series = storage.series && counting<SeriesStorage>(storage.series, calls, "series.");
  return new Proxy(storage, {
    get(target, name) {
      if (name === "series") return series;
      const member: unknown = Reflect.get(target, name, target);
      if (typeof member !== "function") return member;
      if (!counted.has(String(name))) return member.bind(target) as unknown;
      return async (...args: unknown[]) => {
        calls.count(nameOf(String(name), args));
        const value = (await Reflect.apply(member, target, args)) as unknown;
        return name === "openBlob" ? counting<BlobWriter>(value as BlobWriter, calls, "blob.") : value;
      };
    },
  });
}

function counting<Part extends object>(part: Part, calls: CountedCalls, prefix: string): Part {
  return new Proxy(part, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name, target);
      if (typeof member !== "function") return member;
      return (...args: unknown[]): unknown => {
        calls.count(prefix + String(name));
        return Reflect.apply(member, target, args) as unknown;
      };
    },
  });
}

function nameOf(call: string, [first]: unknown[]): string {
  if (call !== "commit") return typeof first === "string" ? `${call} ${first}` : call;
  const writes = first as readonly { kind: string; collection?: string; log?: string }[];
  return `commit ${writes.map(({ kind, collection, log }) => `${kind} ${collection ?? log ?? "blob"}`).join(", ")}`;
}
