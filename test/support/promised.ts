/** Work on a storage that may die at any moment, and a ledger of what it promised over all its lives. */
import { isOrchestratorError } from "../../lib/errors.ts";
import { chainHash } from "../../lib/storage/hash-chain.ts";
import type { LogEntry, LogPage, Storage, StorageSchema } from "../../lib/storage/storage.ts";

/** What the ledger works with. */
export const ledgerSchema: StorageSchema = {
  version: 1,
  collections: { counters: { indexes: { by_n: ["n"] } } },
  logs: { audit: { chained: true } },
};

const writers = ["a", "b", "c", "d"];
const blobs = ["transcript", "output", "B/ackup"];

interface Counter {
  n: number;
  /** Tells the attempts to write one number apart. */
  attempt: number;
  pad: string;
}

/** What is known of a blob. */
interface BlobPromise {
  bytes: Buffer;
  /** Whether a removal was asked for that was not answered. */
  removing: boolean;
  /** Most bytes of an append that was not acknowledged. */
  tried: number;
}

/** What was promised to the writers of one storage, over all its lives. */
export class Promised {
  readonly #random: () => number;
  readonly #counts = new Map<string, number>();
  readonly #tried = new Map<string, number>();
  /** The last attempt of each writer. */
  readonly #attempted = new Map<string, number>();
  /** Attempts that may never be found: they were rejected, or were not there at a later start. */
  readonly #rejected = new Set<number>();
  readonly #blobs = new Map<string, BlobPromise>();
  #trimmed = 0;
  #attempts = 0;
  /** Commits, trims and appends that were acknowledged. */
  acknowledged = 0;

  constructor(random: () => number) {
    this.#random = random;
  }

  /** Works on an open storage until it dies, or refuses for good. */
  async work(storage: Storage): Promise<void> {
    const writing = writers.map((writer) => this.#untilRefused(() => this.#count(storage, writer)));
    await Promise.all([...writing, this.#untilRefused(() => this.#trimAndAppend(storage))]);
  }

  /** Compares a storage that was opened anew with what was promised. What is read here is a promise from now on. */
  async check(storage: Storage): Promise<void> {
    const { base, head } = await storage.readLog("audit", { limit: 1 });
    const entries = await allEntries(storage);
    demand(base.sequence >= this.#trimmed, `trimmed to ${this.#trimmed}, then only to ${base.sequence}`);
    let previous = base;
    for (const entry of entries) {
      demand(entry.sequence === previous.sequence + 1, `${entry.sequence} follows ${previous.sequence}`);
      demand(entry.hash === chainHash(previous.hash ?? "", entry), `entry ${entry.sequence} does not verify`);
      previous = entry;
    }
    demand(previous.sequence === head.sequence, `the log ends at ${previous.sequence}, not ${head.sequence}`);
    const counts = await Promise.all(writers.map((writer) => this.#checkWriter(storage, writer, entries)));
    const total = counts.reduce((sum, count) => sum + count, 0);
    demand(head.sequence === total, `${head.sequence} entries for ${total} commits`);
    this.#trimmed = base.sequence;
    for (const id of blobs) await this.#checkBlob(storage, id);
  }

  async #checkWriter(storage: Storage, writer: string, entries: readonly LogEntry[]): Promise<number> {
    const stored = (await storage.get<Counter>("counters", writer))?.value;
    const n = stored?.n ?? 0;
    const promised = this.#counts.get(writer) ?? 0;
    demand(n >= promised, `${writer} was promised ${promised} and has ${n}`);
    demand(n <= (this.#tried.get(writer) ?? 0), `${writer} has ${n}, which nobody wrote`);
    demand(!this.#rejected.has(stored?.attempt ?? -1), `${writer} has ${n}, which was rejected or gone`);
    demand((stored?.pad ?? "") === padOf(stored), `${writer} has another value than was written`);
    // Each commit wrote its document and its entry together: what is not trimmed runs up to the document, once each.
    const logged = entries.filter(({ value }) => value["writer"] === writer).map(({ value }) => value["n"]);
    const expected = logged.map((_, index) => n - logged.length + 1 + index);
    demand(
      String(logged) === String(expected),
      `${writer} has ${n} and the log of it ends ${logged.slice(-3)}`,
    );
    const attempted = this.#attempted.get(writer);
    if (attempted !== undefined && attempted !== stored?.attempt) this.#rejected.add(attempted);
    this.#counts.set(writer, n);
    return n;
  }

  async #checkBlob(storage: Storage, id: string): Promise<void> {
    const known = this.#blobs.get(id) ?? { bytes: Buffer.alloc(0), removing: false, tried: 0 };
    const bytes = Buffer.from((await storage.readBlob(id)) ?? []);
    const isGone = bytes.length === 0 && known.removing;
    const { length } = known.bytes;
    const begins = bytes.subarray(0, length).equals(known.bytes);
    demand(begins || isGone, `blob ${id} has lost some of its ${length} bytes`);
    // What was being appended may be there in part; what was removed may not.
    const isPossible = bytes.length <= length + known.tried;
    demand(isPossible, `blob ${id} has ${bytes.length} bytes and was given ${length} and ${known.tried}`);
    this.#blobs.set(id, { bytes, removing: false, tried: 0 });
  }

  async #count(storage: Storage, writer: string): Promise<void> {
    const n = (this.#counts.get(writer) ?? 0) + 1;
    this.#tried.set(writer, n);
    const attempt = ++this.#attempts;
    this.#attempted.set(writer, attempt);
    const value: Counter = { n, attempt, pad: "" };
    value.pad = padOf(value);
    const put = {
      kind: "put",
      collection: "counters",
      key: writer,
      value: { ...value },
      expected: n - 1,
    } as const;
    try {
      await storage.commit([put, { kind: "append", log: "audit", at: n, value: { writer, n } }]);
    } catch (error) {
      this.#rejected.add(attempt);
      throw error;
    }
    this.#counts.set(writer, n);
  }

  async #trimAndAppend(storage: Storage): Promise<void> {
    const { head } = await storage.readLog("audit", { limit: 1 });
    const before = Math.floor(head.sequence * this.#random());
    await storage.trimLog("audit", before);
    this.#trimmed = Math.max(this.#trimmed, before - 1);
    await this.#changeBlob(storage);
  }

  async #changeBlob(storage: Storage): Promise<void> {
    const id = blobs[Math.floor(this.#random() * blobs.length)] ?? "";
    const known = this.#blobs.get(id) ?? { bytes: Buffer.alloc(0), removing: false, tried: 0 };
    this.#blobs.set(id, known);
    const chance = this.#random();
    if (chance < 0.3) {
      known.removing = true;
      await storage.commit([{ kind: "dropBlob", id: id }]);
      this.#blobs.set(id, { bytes: Buffer.alloc(0), removing: false, tried: 0 });
    } else if (chance < 0.5) await this.#writeBlob(storage, id, known);
    else {
      const bytes = this.#nextBytes();
      known.tried = Math.max(known.tried, bytes.length);
      await storage.appendBlob(id, bytes);
      known.bytes = Buffer.concat([known.bytes, bytes]);
      known.tried = 0;
    }
  }

  /** With a writer, of which only what was synced is promised. */
  async #writeBlob(storage: Storage, id: string, known: BlobPromise): Promise<void> {
    const writer = await storage.openBlob(id);
    let unsynced = Buffer.alloc(0);
    const keep = (): void => {
      known.bytes = Buffer.concat([known.bytes, unsynced]);
      unsynced = Buffer.alloc(0);
      known.tried = 0;
    };
    try {
      for (let count = 0; count < 3; count++) {
        const bytes = this.#nextBytes();
        known.tried += bytes.length;
        await writer.append(bytes);
        unsynced = Buffer.concat([unsynced, bytes]);
        if (this.#random() < 0.5) await writer.sync().then(keep);
      }
    } finally {
      await writer.close().then(keep);
    }
  }

  #nextBytes(): Buffer {
    return Buffer.from(`[${++this.#attempts}]`.repeat(Math.ceil(this.#random() * 200)));
  }

  async #untilRefused(step: () => Promise<void>): Promise<void> {
    for (;;) {
      try {
        await step();
        this.acknowledged++;
      } catch (error) {
        if (isOrchestratorError(error, "STORAGE_FAILED")) return;
        if (!isOrchestratorError(error, "STORAGE_FULL")) throw error;
      }
    }
  }
}

/** Of a length that depends on the attempt, up to 700. */
function padOf(counter: Counter | undefined): string {
  return counter === undefined ? "" : "x".repeat((counter.attempt * 7_919) % 701);
}

async function allEntries(storage: Storage): Promise<LogEntry[]> {
  const entries: LogEntry[] = [];
  for (let from: number | null = 1; from !== null;) {
    const page: LogPage = await storage.readLog("audit", { from, limit: 1_000 });
    entries.push(...page.entries);
    from = page.next;
  }
  return entries;
}

function demand(holds: boolean, otherwise: string): void {
  if (!holds) throw new Error(`A promise was broken: ${otherwise}.`);
}
