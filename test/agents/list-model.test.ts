/** Whatever becomes of agents, pages of the list put together are what a look at each of them finds, under any filters together. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { nodeCrypto, systemCaller, type Agent } from "fleetwright";
import { createTestOrchestrator, type TestOrchestrator } from "fleetwright/testing";
import type { AgentDocument, AttributesDocument, FindingsDocument } from "../../lib/agents/documents.ts";
import { matchesSelector } from "../../lib/selectors/match.ts";
import { parseSelector } from "../../lib/selectors/parse.ts";
import type { Write } from "../../lib/storage/storage.ts";
import { TestAgent } from "../../lib/testing/test-agent.ts";
import { pagesOf } from "../support/all-pages.ts";
import { evilName } from "../support/evil.ts";

type Filter = NonNullable<Parameters<TestOrchestrator["orchestrator"]["agents"]["list"]>[1]>;

/** The beginnings of their ids are of use as `id_prefix`. */
const written = ["aaaa", "aaab", "bbbb"].flatMap((beginning) =>
  [1, 2, 3].map((n) => `${beginning}${String(n).repeat(28)}`),
);
const seeds = [1, 2, 3].map((n) => new Uint8Array(32).fill(n));
/** One that says of itself what it said before: that it is back is no change of its record. */
const box = nodeCrypto.createExchangeKeyPair();
const sameBox = { ...nodeCrypto, createExchangeKeyPair: () => box };
const hostnames = ["web-1", "WEB-2.example", "db"];
const versions = ["1.0.0", "1.1.0"];
const text = "0".repeat(64);
const at = "2026-01-01T00:00:00.000Z";

const agent = fc.nat({ max: written.length + seeds.length - 1 });
const oneOf = <const Value>(...values: Value[]): fc.Arbitrary<Value> => fc.constantFrom(...values);
const ended = oneOf("succeeded", "failed", "unknown");

const change = fc.oneof(
  {
    weight: 2,
    arbitrary: fc.record({ kind: oneOf("tag"), agent, value: fc.oneof(oneOf("a", "b"), evilName) }),
  },
  fc.record({ kind: oneOf("status"), agent, status: oneOf("pending", "approved", "rejected") }),
  fc.record({ kind: oneOf("host"), agent, hostname: oneOf(...hostnames), version: oneOf(...versions) }),
  fc.record({ kind: oneOf("named"), agent, name: oneOf("Web-1", "web-2", "Db", null) }),
  { weight: 2, arbitrary: fc.record({ kind: oneOf("told"), agent, os: oneOf("debian", "alpine") }) },
  fc.record({
    kind: oneOf("found"),
    agent,
    applied: fc.option(ended),
    drift: fc.option(oneOf("in_sync", "drifted")),
    failed: fc.boolean(),
  }),
  fc.record({ kind: oneOf("has"), agent, name: oneOf("web", "we"), revision: fc.option(oneOf(1, 2)) }),
  {
    weight: 3,
    arbitrary: fc.record({
      kind: oneOf("moves"),
      agent: fc.integer({ min: written.length, max: written.length + 2 }),
    }),
  },
  fc.record({ kind: oneOf("goes"), agent }),
);
type Change = typeof change extends fc.Arbitrary<infer Made> ? Made : never;

const filters = {
  status: oneOf("pending", "approved", "rejected"),
  connected: fc.boolean(),
  selector: oneOf("*", "env=a", "env=a", "attr.os=debian", "attr.os=debian", "name=Web-1"),
  module: oneOf("web", "web@2", "we@1"),
  secret_before: oneOf("web@2", "web@3", "we@3"),
  last_apply: oneOf("succeeded", "failed", "unsuccessful"),
  drift: oneOf("in_sync", "drifted", "failed"),
  agent_version: oneOf(...versions),
  name: oneOf("WEB-1", "db"),
  search: oneOf("Web", "example", "b"),
  id_prefix: oneOf("aaaa", "aaab", "bbbb"),
};
const limit = fc.integer({ min: 1, max: 4 });
/** Few of them together: hardly an agent passes many. */
const someOf = (names: readonly string[], always: readonly string[] = []): fc.Arbitrary<Filter> =>
  fc
    .tuple(fc.record({ ...filters, limit }), fc.subarray([...names], { maxLength: 2 }))
    .map(([all, some]): Filter => {
      const kept = ["limit", ...always, ...some];
      return Object.fromEntries(Object.entries(all).filter(([name]) => kept.includes(name)));
    });
/** Of pages under these it is remembered what was found. */
const remembered = ["status", "selector", "agent_version", "search", "id_prefix"];
const asked = fc.tuple(
  someOf(remembered),
  someOf(["status", "search"], ["id_prefix"]),
  someOf(["status", "search"], ["connected"]),
  someOf(["status", "agent_version"], ["module"]),
  someOf(["status", "agent_version"], ["secret_before"]),
  someOf(["agent_version", "module", "secret_before"], ["selector"]),
  someOf(["drift", "status"], ["selector", "last_apply"]),
  someOf(Object.keys(filters)),
);

class Fleet {
  readonly #test: TestOrchestrator;
  readonly #agents: TestAgent[] = [];
  readonly ids: string[] = [];

  constructor(test: TestOrchestrator) {
    this.#test = test;
  }

  async begin(): Promise<void> {
    for (const node_id of written) await this.#write(node_id, {});
    for (const seed of seeds) this.#agents.push(await this.#connected(seed));
    this.ids.push(...written, ...this.#agents.map(({ nodeId }) => nodeId));
    // Each value meets most others.
    for (const agent of this.ids.keys()) {
      const pick = <const Value>(values: readonly Value[], by: number): Value =>
        values[Math.floor(agent / by) % values.length]!;
      await this.change({ kind: "status", agent, status: pick(["approved", "pending", "rejected"], 1) });
      await this.change({ kind: "tag", agent, value: pick(["a", "b"], 1) });
      await this.change({ kind: "told", agent, os: pick(["debian", "alpine"], 2) });
      const host = { hostname: pick(hostnames, 1), version: pick(versions, 3) };
      await this.change({ kind: "host", agent, ...host });
      await this.change({
        kind: "has",
        agent,
        name: pick(["web", "we"], 2),
        revision: pick([1, 2, null], 1),
      });
      const found = { applied: pick(["succeeded", "failed", null], 2), drift: pick(["drifted", null], 1) };
      await this.change({ kind: "found", agent, ...found, failed: pick([true, false], 3) });
    }
  }

  async change(made: Change): Promise<void> {
    const nodeId = this.ids[made.agent]!;
    switch (made.kind) {
      case "tag":
        return this.#write(nodeId, { tags: { env: made.value } });
      case "status":
        return this.#write(nodeId, { status: made.status });
      case "host":
        return this.#write(nodeId, { hostname: made.hostname, agent_version: made.version });
      case "named":
        return this.#name(nodeId, made.name);
      case "told": {
        const value = { node_id: nodeId, attributes: { os: made.os }, collected_at: at };
        return this.#commit({ kind: "put", collection: "agent_attributes", key: nodeId, value });
      }
      case "found":
        return this.#found(nodeId, made);
      case "has":
        return this.#has(nodeId, made);
      case "moves":
        return this.#move(made.agent - written.length);
      case "goes":
        return this.#commit({ kind: "delete", collection: "agents", key: nodeId });
    }
  }

  /** What a look at each finds. */
  async expected(asked: Filter): Promise<Readonly<AgentDocument>[]> {
    const found: Readonly<AgentDocument>[] = [];
    for (const nodeId of this.ids.toSorted()) {
      const stored = await this.#test.storage.get<AgentDocument>("agents", nodeId);
      if (stored && (await this.#passes(stored.value, asked))) found.push(stored.value);
    }
    return found;
  }

  /** Page by page. */
  async listed(asked: Filter): Promise<Agent[][]> {
    const { agents } = this.#test.orchestrator;
    return pagesOf((page) => agents.list(systemCaller, { ...asked, ...page }));
  }

  async #passes(document: Readonly<AgentDocument>, asked: Filter): Promise<boolean> {
    const { node_id, name, hostname, tags } = document;
    const read = async <T>(collection: string, key = node_id): Promise<Readonly<T> | undefined> =>
      (await this.#test.storage.get<T>(collection, key))?.value;
    const { attributes = {} } = (await read<AttributesDocument>("agent_attributes")) ?? {};
    const findings = await read<FindingsDocument>("agent_findings");
    const target = { node_id, name: name ?? null, tags, attributes };
    const of = async (collection: string, wanted: string): Promise<[has?: number, wanted?: number]> => {
      const [asName, number] = wanted.split("@");
      const applied = await read<{ revision?: number; version?: number }>(collection, `${node_id}/${asName}`);
      const has = applied?.revision ?? applied?.version;
      if (has === undefined) return [];
      return number === undefined ? [has] : [has, Number(number)];
    };
    const checks: { [Name in keyof Filter]?: (wanted: NonNullable<Filter[Name]>) => unknown } = {
      status: (status) => document.status === status,
      connected: (connected) => this.#test.transport.isConnected(node_id) === connected,
      selector: (selector) => matchesSelector(parseSelector(selector), target),
      module: async (module) => {
        const [has, wanted] = await of("applied_modules", module);
        return has !== undefined && (wanted ?? has) === has;
      },
      secret_before: async (secret) => {
        const [has, wanted] = await of("applied_secrets", secret);
        return has !== undefined && has < wanted!;
      },
      last_apply: (status) =>
        status === "unsuccessful" ? findings?.apply_failed === true : findings?.last_apply?.status === status,
      drift: (status) =>
        status === "failed" ? findings?.check_failed === true : findings?.drift?.status === status,
      agent_version: (version) => document.agent_version === version,
      name: (wanted) => name?.toLowerCase() === wanted.toLowerCase(),
      search: (part) =>
        [name ?? "", hostname].some((each) => each.toLowerCase().includes(part.toLowerCase())),
      id_prefix: (beginning) => node_id.startsWith(beginning),
    };
    for (const [wanted, check] of Object.entries(checks)) {
      const value = asked[wanted as keyof Filter];
      if (value !== undefined && (await (check as (value: unknown) => unknown)(value)) !== true) return false;
    }
    return true;
  }

  async #commit(...writes: Write[]): Promise<void> {
    await this.#test.storage.commit(writes);
  }

  /** As an enrolment, an operator or a connection writes it. */
  async #write(nodeId: string, change: Partial<AgentDocument>): Promise<void> {
    const known = (await this.#test.storage.get<AgentDocument>("agents", nodeId))?.value;
    const seen = { first_seen_at: at, last_seen_at: at, public_key: text, box_public_key: text };
    const fresh = { node_id: nodeId, status: "pending", hostname: "db", platform: "linux", tags: {} };
    const agent = { ...fresh, agent_version: "1.0.0", remote_address: null, ...seen, ...known, ...change };
    await this.#commit({ kind: "put", collection: "agents", key: nodeId, value: agent });
  }

  async #name(nodeId: string, name: string | null): Promise<void> {
    const known = await this.#test.storage.get<AgentDocument>("agents", nodeId);
    const held = name && (await this.#test.storage.get("agent_names", name.toLowerCase()));
    if (!known || held) return;
    const { name: before, ...rest } = known.value;
    if (before !== undefined)
      await this.#commit({ kind: "delete", collection: "agent_names", key: before.toLowerCase() });
    if (name !== null)
      await this.#commit({
        kind: "put",
        collection: "agent_names",
        key: name.toLowerCase(),
        value: { node_id: nodeId },
      });
    const value = { ...rest, ...(name !== null && { name }) };
    await this.#commit({ kind: "put", collection: "agents", key: nodeId, value });
  }

  async #found(nodeId: string, { applied, drift, failed }: Change & { kind: "found" }): Promise<void> {
    const value = {
      node_id: nodeId,
      ...(applied && { last_apply: { operation_id: "o", status: applied, finished_at: at } }),
      ...(applied === "failed" && { apply_failed: true }),
      ...(drift && { drift: { drift_id: "d", status: drift, checked_at: at } }),
      ...(failed && { check_failed: true, failed_drift_check: { drift_id: "d", checked_at: at } }),
    };
    await this.#commit({ kind: "put", collection: "agent_findings", key: nodeId, value });
  }

  async #has(nodeId: string, { name, revision }: Change & { kind: "has" }): Promise<void> {
    const key = `${nodeId}/${name}`;
    const writes = (["applied_modules", "applied_secrets"] as const).map((collection): Write => {
      if (revision === null) return { kind: "delete", collection, key };
      const value =
        collection === "applied_modules" ? { module: name, revision } : { secret: name, version: revision };
      return { kind: "put", collection, key, value: { node_id: nodeId, ...value } };
    });
    await this.#commit(...writes);
  }

  async #connected(seed: Uint8Array): Promise<TestAgent> {
    const agent = new TestAgent(this.#test.transport.connect(), { crypto: sameBox, seed });
    await agent.join();
    return agent;
  }

  async #move(at: number): Promise<void> {
    const agent = this.#agents[at];
    if (!agent) return;
    if (this.#test.transport.isConnected(agent.nodeId))
      await this.#test.transport.disconnect(agent.nodeId, "moves");
    else this.#agents[at] = await this.#connected(seeds[at]!);
  }
}

test("pages of the list are what a look at each agent finds, also where it changed while they were read", async () => {
  const steps = fc.array(fc.record({ change, ahead: fc.option(fc.nat({ max: 20 })) }), {
    minLength: 15,
    maxLength: 30,
  });
  await fc.assert(
    fc.asyncProperty(asked, steps, async (queries, made) => {
      await using orchestrator = await createTestOrchestrator();
      const fleet = new Fleet(orchestrator);
      await fleet.begin();
      for (const { change: one, ahead } of made) {
        const reads = ahead === null ? [] : queries.map((each) => fleet.listed(each));
        for (let turn = 0; turn < (ahead ?? 0); turn += 1) await Promise.resolve();
        await fleet.change(one);
        await Promise.all(reads);
        for (const each of queries) {
          const [pages, expected] = [await fleet.listed(each), await fleet.expected(each)];
          expect(Math.max(...pages.map(({ length }) => length))).toBeLessThanOrEqual(each.limit!);
          const listed = pages.flat();
          expect(listed.map(({ node_id }) => node_id)).toEqual(expected.map(({ node_id }) => node_id));
          expect(listed.map(({ tags, status, name }) => ({ tags, status, name }))).toEqual(
            expected.map(({ tags, status, name }) => ({ tags, status, name })),
          );
        }
      }
    }),
    { numRuns: 20, seed: 1 },
  );
});
