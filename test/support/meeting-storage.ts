/** A storage that tells what a call reads and commits, and does something right before one of its commits. */
import { AsyncLocalStorage } from "node:async_hooks";
import type { Storage, StoredDocument, Write } from "../../lib/storage/storage.ts";

/** A put or a delete of a commit, and what stood there before. */
export interface MetWrite {
  kind: "put" | "delete";
  collection: string;
  key: string;
  /** Whether the revision that must be there was said. */
  isExpecting: boolean;
  before: StoredDocument | null;
}

/** One commit of a call. */
export interface MetCommit {
  writes: readonly MetWrite[];
  /** What was read before it and since the call began, as "collection/key". */
  read: readonly string[];
}

/** What somebody does between the reads and a commit of a call. */
export interface Meeting {
  /** Which commit of the call, from 0. */
  commit: number;
  act: () => Promise<unknown>;
}

/** Whose calls are looked at: one for all, as each makes every promise of the process slower, for as long as it is not disabled. */
const within = new AsyncLocalStorage<MetCommits>();

/** The commits of what is done within {@link during}. */
export class MetCommits {
  readonly made: MetCommit[] = [];
  meeting: Meeting | null = null;
  readonly #read = new Set<string>();

  /** Looks at what is called from here, and from what this starts. */
  during<T>(act: () => Promise<T>): Promise<T> {
    return within.run(this, act);
  }

  read(collection: string, documents: readonly (StoredDocument | null)[]): void {
    if (!this.#isWithin) return;
    for (const document of documents) if (document !== null) this.#read.add(`${collection}/${document.key}`);
  }

  async commit(storage: Storage, writes: readonly Write[]): Promise<void> {
    if (!this.#isWithin) return;
    const { meeting } = this;
    const isMet = meeting?.commit === this.made.length;
    const met: MetWrite[] = [];
    for (const write of writes) {
      if (write.kind !== "put" && write.kind !== "delete") continue;
      const { kind, collection, key, expected } = write;
      const before = await storage.get(collection, key);
      met.push({ kind, collection, key, isExpecting: expected !== undefined, before });
    }
    this.made.push({ writes: met, read: [...this.#read] });
    if (isMet) await within.exit(meeting.act);
  }

  get #isWithin(): boolean {
    return within.getStore() === this;
  }
}

/** Ends what {@link MetCommits.during} began, for whoever comes next in the process. */
export function endMeetings(): void {
  within.disable();
}

/** The storage, with what it is asked for told to the commits. */
export function meetingStorage<Met extends Storage>(storage: Met, commits: MetCommits): Met {
  const own: Partial<Storage> = {
    async get<T>(collection: string, key: string) {
      const document = await storage.get<T>(collection, key);
      commits.read(collection, [document as StoredDocument | null]);
      return document;
    },
    async getMany<T>(collection: string, keys: readonly string[]) {
      const documents = await storage.getMany<T>(collection, keys);
      commits.read(collection, documents as (StoredDocument | null)[]);
      return documents;
    },
    async list<T>(...[collection, query]: Parameters<Storage["list"]>) {
      const page = await storage.list<T>(collection, query);
      commits.read(collection, page.items as StoredDocument[]);
      return page;
    },
    async commit(writes, options) {
      await commits.commit(storage, writes);
      return storage.commit(writes, options);
    },
  };
  return new Proxy(storage, {
    get(target, name) {
      if (Object.hasOwn(own, name)) return Reflect.get(own, name) as unknown;
      const member: unknown = Reflect.get(target, name, target);
      return typeof member === "function" ? (member.bind(target) as unknown) : member;
    },
  });
}
