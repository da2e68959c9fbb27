/** One call of the surface on an orchestrator of its own, whose storage fails in the middle of it, and what it leaves. */
import { randomUUID } from "node:crypto";
import { cpSync } from "node:fs";
import { join } from "node:path";
import { createAgent, type AgentProgram } from "fleetwright/agent";
import { createTestOrchestrator, FakeClock, type TestOrchestrator } from "fleetwright/testing";
import { createRestFetch } from "../../adapters/rest/fetch.ts";
import { createRestHandler } from "../../adapters/rest/handler.ts";
import { restProcedures } from "../../adapters/rest/routes.ts";
import { createContextFactory } from "../../adapters/trpc/context.ts";
import { appRouter } from "../../adapters/trpc/router.ts";
import type { ProcedureMeta } from "../../adapters/trpc/trpc.ts";
import { storageSchema } from "../../lib/storage-schema.ts";
import { type MemoryData, MemoryStorage } from "../../lib/storage/memory-storage.ts";
import type { Storage } from "../../lib/storage/storage.ts";
import { settle, settleAll } from "./deferred.ts";
import { CountedCalls, countingStorage } from "./failing-storage.ts";
import { MetCommits, meetingStorage } from "./meeting-storage.ts";
import { MemorySecretsKey } from "./secrets-key.ts";
import { temporaryFolder } from "./temporary-folder.ts";
import { handlesOf } from "./two-processes.ts";

/** A call that is about to be made, and what there is at that moment. */
export interface Moment {
  procedure: string;
  method: string;
  /** Below the base path. */
  path: string;
  token: string | undefined;
  body: Record<string, unknown> | undefined;
  storage: MemoryStorage;
  nowMs: number;
  secretsKey: MemorySecretsKey;
  /** The folders of the machine that is there, where one is. */
  machine: { root: string; stateDir: string } | null;
}

/** What of a moment is sent. */
export type CallToSend = Pick<Moment, "method" | "path" | "token" | "body">;

/** What a call was answered with. */
export interface Answer {
  status: number;
  body: unknown;
}

/** All that is stored, without what no two runs have in common: by collection and log, each document as a line. */
export type Stored = Record<string, string[]>;

/** A copy of what there is at this moment, which was not restored from anywhere. */
export function copyOf(storage: MemoryStorage): MemoryData {
  const copy = storage.restoredCopy();
  copy.restored = null;
  return copy;
}

/** An orchestrator that goes on from a moment. */
export class Life implements AsyncDisposable {
  readonly calls: CountedCalls;
  readonly commits: MetCommits;
  /** All that is stored. What is committed here, no process of this life did. */
  readonly storage: MemoryStorage;
  readonly secretsKey: MemorySecretsKey;
  readonly #product: TestOrchestrator;
  readonly #fetch: Fetch;
  readonly #agent: AgentProgram | null;
  /** A second process on the same storage. */
  readonly #other: TestOrchestrator | null;
  readonly #fetchOfOther: Fetch;

  private constructor(parts: {
    product: TestOrchestrator;
    other: TestOrchestrator | null;
    storage: MemoryStorage;
    calls: CountedCalls;
    commits: MetCommits;
    agent: AgentProgram | null;
    secretsKey: MemorySecretsKey;
  }) {
    this.calls = parts.calls;
    this.commits = parts.commits;
    this.#product = parts.product;
    this.#other = parts.other;
    this.storage = parts.storage;
    this.#agent = parts.agent;
    this.secretsKey = parts.secretsKey;
    this.#fetch = fetchOf(parts.product);
    this.#fetchOfOther = parts.other ? fetchOf(parts.other) : this.#fetch;
  }

  /**
   * @param given.hasMachine - Whether the machine of the moment is connected.
   * @param given.hasOther - Whether there is a second process. Default: false.
   */
  static async start(
    moment: Moment,
    given: { data: MemoryData; hasMachine: boolean; hasOther?: boolean },
  ): Promise<Life> {
    const { data, hasMachine, hasOther = false } = given;
    const clock = new FakeClock(moment.nowMs);
    const storage = new MemoryStorage({ clock, data });
    const calls = new CountedCalls();
    const commits = new MetCommits();
    const secretsKey = new MemorySecretsKey(moment.secretsKey.keys.length);
    secretsKey.keys = [...moment.secretsKey.keys];
    const handle = handlesOf(storage);
    const begin = async (own: Storage): Promise<TestOrchestrator> => ({
      ...(await createTestOrchestrator({
        clock,
        storage: own,
        secretsKey,
        channelNetworks: ["127.0.0.1"],
      })),
      clock,
    });
    const product = await begin(meetingStorage(countingStorage(handle(), calls), commits));
    const other = hasOther ? await begin(handle()) : null;
    const agent = hasMachine ? await startCopy(moment, product, clock) : null;
    await settleAll();
    return new Life({ product, other, storage, calls, commits, agent, secretsKey });
  }

  /** Sends the call of the moment, or another. */
  send(call: CallToSend, more: Readonly<Record<string, string>> = {}): Promise<Answer> {
    return this.#send(this.#fetch, call, more);
  }

  /** Sends a call to the second process. */
  sendToOther(call: CallToSend): Promise<Answer> {
    return this.#send(this.#fetchOfOther, call);
  }

  async #send(
    fetch: Fetch,
    { method, path, token, body }: CallToSend,
    more: Readonly<Record<string, string>> = {},
  ): Promise<Answer> {
    const headers = {
      ...more,
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
      ...(body !== undefined && { "content-type": "application/json" }),
    };
    const url = `http://fleet.example/api/v1${path}`;
    const answer = fetch(new Request(url, { method, headers, ...(body && { body: JSON.stringify(body) }) }));
    let isThere = false;
    void answer.finally(() => (isThere = true)).catch(() => {});
    for (let turn = 0; !isThere && turn < 200; turn += 1) await settle();
    // Some wait for others, with a limit.
    for (let seconds = 0; !isThere && seconds < 120; seconds += 1) await this.#product.clock.advance(1_000);
    const response = await answer;
    const { status } = response;
    const text = await response.text();
    const isJson = response.headers.get("content-type")?.includes("json") === true;
    return { status, body: isJson ? (JSON.parse(text) as unknown) : text };
  }

  /** What was told since the start, in order, as the log of events should have it. */
  get told(): string[] {
    return this.#product.events.map((event) => repeatable(event));
  }

  get nowMs(): number {
    return this.#product.clock.now();
  }

  /** Lets what goes on by itself be done, and be tried again. */
  async pass(ms: number): Promise<void> {
    const { clock } = this.#product;
    const endMs = clock.now() + ms;
    while (clock.now() < endMs) {
      await clock.advance(Math.min(50_000, endMs - clock.now()));
      for (let turn = 0; turn < 30; turn += 1) await settle();
    }
  }

  /** What is stored now. */
  async stored(): Promise<Stored> {
    const found: Stored = {};
    for (const collection of Object.keys(storageSchema.collections)) {
      if (collection in besides) continue;
      const { items } = await this.storage.list(collection, { limit: 1_000 });
      // How far the log was checked by itself says when it last was.
      const own = items.filter(({ key }) => collection !== "settings" || key !== "audit_check");
      found[collection] = own.map(({ value }) => repeatable(value)).toSorted();
    }
    for (const log of Object.keys(storageSchema.logs)) {
      const { entries } = await this.storage.readLog(log, { limit: 1_000 });
      found[log] = entries.map(({ value }) => repeatable(value));
    }
    return found;
  }

  copy(): MemoryData {
    return copyOf(this.storage);
  }

  /** What every list answers that needs no more than a caller. */
  async lists(token: string | undefined): Promise<Record<string, unknown>> {
    const found: Record<string, unknown> = {};
    for (const [name, path] of listPaths) {
      const { status, body } = await this.send({ method: "GET", path, token, body: undefined });
      found[name] = status === 200 ? body : status;
    }
    return found;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#agent?.stop();
    await this.#other?.[Symbol.asyncDispose]();
    await this.#product[Symbol.asyncDispose]();
  }
}

type Fetch = (request: Request) => Promise<Response>;

function fetchOf({ orchestrator }: TestOrchestrator): Fetch {
  return createRestFetch(
    createRestHandler({
      router: appRouter,
      createContext: createContextFactory(orchestrator),
      createRequestId: randomUUID,
      logger: silent,
    }),
  );
}

const listPaths: [name: string, path: string][] = restProcedures(appRouter).flatMap(([name, { _def }]) => {
  const { method, path } = (_def.meta as ProcedureMeta).openapi!;
  return _def.type === "query" && method === "GET" && name !== "backups.create" && !path.includes("{")
    ? [[name, path]]
    : [];
});

/** The machine's agent, over folders of its own. */
async function startCopy(moment: Moment, product: TestOrchestrator, clock: FakeClock): Promise<AgentProgram> {
  if (!moment.machine) throw new Error(`${moment.procedure} needs a machine, and there was none yet.`);
  const folder = temporaryFolder();
  const folders = { root: join(folder, "root"), stateDir: join(folder, "state") };
  cpSync(moment.machine.root, folders.root, { recursive: true });
  cpSync(moment.machine.stateDir, folders.stateDir, { recursive: true });
  const agent = createAgent({
    ...folders,
    clock,
    dial: () => Promise.resolve(product.transport.connect()),
  });
  await agent.start();
  await settleAll();
  return agent;
}

/** Collections that say nothing of what was done, and why. */
const besides: Readonly<Record<string, string>> = {
  loose_contents: "marks contents that nothing names yet, for the removal of those that nothing ever will",
  notification_cursors: "how far the log of events was read",
};

const silent = { debug() {}, info() {}, warn() {}, error() {} };

/** What no two runs have in common, by its form. */
const chance =
  /fwt?_[\w-]{43}|[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}|[\w./+=-]{100,}|\b[0-9a-f]{32,128}\b|"[\w+/-]{22,}={0,2}"/g;
const time = /\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z|\b1[89]\d{11}\b/g;

/** Nearly all that one life has stored the next has, too: of each text it is worked out once. */
const repeated = new Map<string, string>();
const mostRepeated = 50_000;

function repeatable(value: unknown): string {
  const text = JSON.stringify(value);
  const known = repeated.get(text);
  if (known !== undefined) return known;
  const made = text.replaceAll(chance, "<chance>").replaceAll(time, "<time>");
  if (repeated.size === mostRepeated) repeated.clear();
  repeated.set(text, made);
  return made;
}
