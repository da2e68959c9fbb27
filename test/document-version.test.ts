/** Changes of what was seen, where somebody else writes it between the look at its version and the commit. */
import { beforeEach, expect, it } from "vitest";
import { MemoryStorage, systemCaller, type ChangeOptions } from "fleetwright";
import { createTestOrchestrator, type TestOrchestrator } from "fleetwright/testing";
import type { JsonObject } from "../lib/json.ts";
import { addOperator, webhook } from "./support/channel-scene.ts";
import { approved } from "./support/leaving-agents.ts";
import { RacingStorage } from "./support/racing-storage.ts";
import { MemorySecretsKey } from "./support/secrets-key.ts";
import { twoProcesses } from "./support/two-processes.ts";

type Change = (options: ChangeOptions) => Promise<unknown>;
/** What is changed, and how. */
interface Thing {
  collection: string;
  key: string;
  changes: Record<string, Change>;
}

let storage: RacingStorage;
let test: TestOrchestrator;

beforeEach(async ({ onTestFinished }) => {
  storage = new RacingStorage();
  test = await createTestOrchestrator({
    storage,
    secretsKey: new MemorySecretsKey(),
    channelNetworks: ["127.0.0.1"],
  });
  onTestFinished(() => test[Symbol.asyncDispose]());
});

const things: Record<string, () => Promise<Thing>> = {
  "a maintenance window": async () => {
    const { maintenanceWindows } = test.orchestrator;
    const ends_at = new Date(test.clock.now() + 3_600_000).toISOString();
    const { id } = await maintenanceWindows.create(systemCaller, { reason: "Disks", mode: "mute", ends_at });
    return {
      collection: "maintenance_windows",
      key: id,
      changes: {
        update: (options) => maintenanceWindows.update(systemCaller, { id, reason: "Fans" }, options),
        remove: (options) => maintenanceWindows.remove(systemCaller, { id }, options),
      },
    };
  },
  "a threshold": async () => {
    const { thresholds } = test.orchestrator;
    const load = { name: "Busy", metric: "load.1", condition: "above", value: 4 } as const;
    const { id } = await thresholds.create(systemCaller, load);
    return {
      collection: "thresholds",
      key: id,
      changes: {
        update: (options) => thresholds.update(systemCaller, { id, value: 6 }, options),
        remove: (options) => thresholds.remove(systemCaller, { id }, options),
      },
    };
  },
  "a channel": async () => {
    const { channels } = test.orchestrator;
    const { id } = await webhook(test, "http://127.0.0.1:9/");
    return {
      collection: "channels",
      key: id,
      changes: {
        update: (options) => channels.update(systemCaller, { id, enabled: false }, options),
        remove: (options) => channels.remove(systemCaller, { id }, options),
      },
    };
  },
  "an assignment": async () => {
    const { assignments, modules } = test.orchestrator;
    await modules.upload(systemCaller, { content: "name: web\nresources: []\n" });
    await assignments.create(systemCaller, { name: "all", selector: "*", modules: ["web"] });
    return {
      collection: "assignments",
      key: "all",
      changes: {
        update: (options) => assignments.update(systemCaller, { name: "all", selector: "a=b" }, options),
        remove: (options) => assignments.remove(systemCaller, { name: "all" }, options),
      },
    };
  },
  "an operator": async () => {
    const { operators } = test.orchestrator;
    const operator_id = await addOperator(test, "ada");
    return {
      collection: "operators",
      key: operator_id,
      changes: {
        setRole: (options) => operators.setRole(systemCaller, { operator_id, role: "Operator" }, options),
        remove: (options) => operators.remove(systemCaller, { operator_id }, options),
      },
    };
  },
  "an enrolment token": async () => {
    const { enrolmentTokens } = test.orchestrator;
    const { id } = await enrolmentTokens.create(systemCaller, { name: "web" });
    return {
      collection: "enrolment_tokens",
      key: id,
      changes: { revoke: (options) => enrolmentTokens.revoke(systemCaller, { id }, options) },
    };
  },
  "a secret": async () => {
    const { secrets } = test.orchestrator;
    await secrets.create(systemCaller, { name: "db", value: "one" });
    return {
      collection: "secrets",
      key: "db",
      changes: {
        update: (options) => secrets.update(systemCaller, { name: "db", value: "two" }, options),
        remove: (options) => secrets.remove(systemCaller, { name: "db" }, options),
      },
    };
  },
  "an agent": async () => {
    const { agents } = test.orchestrator;
    const { nodeId: node_id } = await approved(test, 1);
    await agents.tags.set(systemCaller, { node_id, key: "c", value: "d" });
    return {
      collection: "agents",
      key: node_id,
      changes: {
        rename: (options) => agents.rename(systemCaller, { node_id, name: "other" }, options),
        "replace the tags": (options) =>
          agents.tags.replace(systemCaller, { node_id, tags: { a: "b" } }, options),
        "set a tag": (options) => agents.tags.set(systemCaller, { node_id, key: "a", value: "b" }, options),
        "remove a tag": (options) => agents.tags.remove(systemCaller, { node_id, key: "c" }, options),
        reject: (options) => agents.setStatus(systemCaller, { node_id, status: "rejected" }, options),
      },
    };
  },
  "a rejected agent": async () => {
    const { agents } = test.orchestrator;
    const { nodeId: node_id } = await approved(test, 1);
    await agents.setStatus(systemCaller, { node_id, status: "rejected" });
    return {
      collection: "agents",
      key: node_id,
      changes: { remove: (options) => agents.remove(systemCaller, { node_id }, options) },
    };
  },
  // Its version is one that its document says itself.
  "a module": async () => {
    const { modules } = test.orchestrator;
    const content = "name: web\nresources: []\n";
    await modules.upload(systemCaller, { content });
    return {
      collection: "modules",
      key: "web",
      changes: {
        upload: (options) => modules.upload(systemCaller, { content: `${content}# mine\n` }, options),
        remove: (options) => modules.remove(systemCaller, { name: "web" }, options),
      },
    };
  },
};

const noVersions = { path: ["ifVersion"], message: "must be a list of versions" };
it.each<[string, unknown, object]>([
  ["a number in place of a list, as the client takes it", { ifVersion: 1 }, noVersions],
  ["a text in place of a list", { ifVersion: "1" }, noVersions],
  ["null in place of a list", { ifVersion: null }, noVersions],
  ["a list of texts", { ifVersion: ["0"] }, noVersions],
  ["a list with what is no number", { ifVersion: [0, Number.NaN] }, noVersions],
  ["a name that is typed wrong", { ifversion: [0] }, { path: ["ifversion"] }],
  ["the name of the header", { ifVersion: [0], "if-match": '"1"' }, { path: ["if-match"] }],
  ["null", null, { path: [] }],
  ["a number", 0, { path: [] }],
  ["a list", [0], { path: [] }],
])("options that are %s are refused in words, and nothing is changed", async (_, options, issue) => {
  const { audit } = test.orchestrator;
  const changed = audit.setRetention(systemCaller, { retention_days: 7 }, options as ChangeOptions);
  await expect(changed).rejects.toMatchObject({ code: "VALIDATION_FAILED", issues: [issue] });
  expect(await audit.getRetention(systemCaller)).toMatchObject({ retention_days: 90, version: 0 });
});

it.each(Object.keys(things))(
  "%s stays as it is by then, whatever was to become of what was seen",
  async (name) => {
    const { collection, key, changes } = await things[name]!();
    for (const [change, make] of Object.entries(changes)) {
      const seen = (await storage.get<JsonObject>(collection, key))!;
      const { revision: own } = seen.value;
      const version = typeof own === "number" ? own : seen.revision;
      const value = typeof own === "number" ? { ...seen.value, revision: own + 1 } : seen.value;
      storage.before = () => storage.commit([{ kind: "put", collection, key, value }]);
      await expect(make({ ifVersion: [version] }), change).rejects.toMatchObject({
        code: "PRECONDITION_FAILED",
        details: { version: version + 1 },
      });
      expect(storage.before, change).toBeNull();
      const left = await storage.get(collection, key);
      expect(left, change).toEqual({ ...seen, value, revision: seen.revision + 1 });
    }
  },
);

/** What has a name of its maker's choice, and how it is made, changed and removed under it. */
const named: Record<string, () => Promise<Named>> = {
  "an assignment": async () => {
    const { assignments, modules } = test.orchestrator;
    await modules.upload(systemCaller, { content: "name: m\nresources: []\n" });
    const name = "site";
    return {
      create: () => assignments.create(systemCaller, { name, selector: "all", modules: ["m"] }),
      update: (options) => assignments.update(systemCaller, { name, description: "Site" }, options),
      get: () => assignments.get(systemCaller, { name }),
      remove: (options) => assignments.remove(systemCaller, { name }, options),
    };
  },
  "a secret": async () => {
    const { secrets } = test.orchestrator;
    const name = "key";
    return {
      create: () => secrets.create(systemCaller, { name, value: "v" }),
      update: (options) => secrets.update(systemCaller, { name, description: "Key" }, options),
      get: () => secrets.get(systemCaller, { name }),
      remove: (options) => secrets.remove(systemCaller, { name }, options),
    };
  },
};

interface Named {
  create: () => Promise<{ version: number }>;
  update: (options: ChangeOptions) => Promise<{ version: number }>;
  get: () => Promise<{ version: number }>;
  remove: (options: ChangeOptions) => Promise<void>;
}

it.each(Object.keys(named))("%s that is made anew has no version that one of its name had", async (what) => {
  const { create, update, get, remove } = await named[what]!();
  const had = new Set<number>();
  for (let life = 0; life < 3; life += 1) {
    const versions = [(await create()).version, (await get()).version, (await update({})).version];
    expect(versions[1]).toBe(versions[0]);
    for (const version of had) {
      await expect(update({ ifVersion: [version] })).rejects.toMatchObject({ code: "PRECONDITION_FAILED" });
      await expect(remove({ ifVersion: [version] })).rejects.toMatchObject({ code: "PRECONDITION_FAILED" });
    }
    const changed = await update({ ifVersion: [versions[2]!] });
    expect(changed.version).toBe((await get()).version);
    for (const version of [...versions, changed.version]) had.add(version);
    await remove({ ifVersion: [changed.version] });
  }
  expect(had.size).toBe(9);
});

it("an assignment that is made in the moment in which another process removes one of its name has no version of that", async () => {
  let before: (() => Promise<unknown>) | null = null;
  await using processes = await twoProcesses((clock) => {
    const shared = new MemoryStorage({ clock });
    const commit = shared.commit.bind(shared);
    shared.commit = async (...given) => {
      const act = before;
      before = null;
      await act?.();
      return commit(...given);
    };
    return shared;
  });
  const [first, second] = [processes.first.orchestrator, processes.second.orchestrator];
  await first.modules.upload(systemCaller, { content: "name: m\nresources: []\n" });
  const name = "site";
  const create = () => first.assignments.create(systemCaller, { name, selector: "all", modules: ["m"] });
  const { version: had } = await create();
  before = () => second.assignments.remove(systemCaller, { name });
  const { version } = await create().catch(create);
  expect(version).toBeGreaterThan(had);
  expect((await second.assignments.get(systemCaller, { name })).version).toBe(version);
});

it("an assignment of a name that none had has the first version, and one of a name that is no longer known none that was", async () => {
  const { assignments, modules } = test.orchestrator;
  await modules.upload(systemCaller, { content: "name: m\nresources: []\n" });
  const make = (name: string) => assignments.create(systemCaller, { name, selector: "all", modules: ["m"] });
  const remove = (name: string) => assignments.remove(systemCaller, { name });
  await make("old");
  const { version: last } = await assignments.update(systemCaller, { name: "old", description: "Old" });
  await remove("old");
  // Of 100 that are removed after it the name is known, of one more no longer.
  for (let count = 1; count <= 99; count++) {
    expect((await make(`a-${count}`)).version).toBe(1);
    await remove(`a-${count}`);
  }
  expect((await make("old")).version).toBe(last + 1);
  await remove("old");
  for (let count = 1; count <= 100; count++) {
    await make(`b-${count}`);
    await remove(`b-${count}`);
  }
  expect((await make("old")).version).toBe(last + 2);
  expect((await make("new")).version).toBe(last + 2);
});

it("any number of assignments may be removed at once", async () => {
  const { assignments, modules } = test.orchestrator;
  await modules.upload(systemCaller, { content: "name: m\nresources: []\n" });
  const names = Array.from({ length: 150 }, (_, count) => `a-${count}`);
  for (const name of names)
    await assignments.create(systemCaller, { name, selector: "role=none", modules: ["m"] });
  await Promise.all(names.map((name) => assignments.remove(systemCaller, { name })));
  expect((await assignments.list(systemCaller, {})).items).toEqual([]);
});
