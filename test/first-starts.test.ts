/** Processes that start at once on a storage that nothing was started on before, or that was restored. */
import { expect, test } from "vitest";
import {
  MemoryStorage,
  MemoryTransport,
  nodeCrypto,
  Orchestrator,
  silentLogger,
  systemCaller,
  toHex,
} from "fleetwright";
import type { Storage } from "fleetwright";
import { FakeClock } from "fleetwright/testing";
import { seededRandom } from "./support/random.ts";
import { handlesOf } from "./support/two-processes.ts";

const clock = new FakeClock(Date.UTC(2030, 0, 1));
const newKey = (): string => toHex(nodeCrypto.createSigningKeyPair().publicKey);
const [ada, bob] = [newKey(), newKey()];

/** A storage whose answers take their time, each as long as it happens to. */
function slow(storage: Storage, random: () => number): Storage {
  return new Proxy(storage, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name, target);
      if (typeof member !== "function") return member;
      const call = (...given: unknown[]): unknown => Reflect.apply(member, target, given);
      if (!["get", "getMany", "list", "readLog", "commit"].includes(String(name))) return call;
      return async (...given: unknown[]) => {
        for (let turns = random() * 40; turns > 0; turns -= 1) await Promise.resolve();
        return call(...given);
      };
    },
  });
}

/** Starts processes at once, each with first Admins of its own, and tells what they and the storage came to. */
async function startAtOnce(
  storage: MemoryStorage,
  seed: number,
  admins: readonly (readonly { public_key: string; username?: string }[])[],
) {
  const random = seededRandom(seed);
  const handle = handlesOf(storage);
  const all = admins.map(
    (adminPublicKeys) =>
      new Orchestrator({
        storage: slow(handle(), random),
        transport: new MemoryTransport(),
        adminPublicKeys: [...adminPublicKeys],
        clock,
        logger: silentLogger,
      }),
  );
  const outcomes = await Promise.allSettled(all.map((each) => each.start()));
  expect(outcomes.filter(({ status }) => status === "rejected")).toEqual([]);
  const [first] = all;
  const { items: operators } = await first!.operators.list(systemCaller);
  const { items: events } = await first!.audit.list(systemCaller);
  const told = {
    keys: new Set(all.map(({ publicKey }) => toHex(publicKey))),
    epochs: new Set(
      await Promise.all(all.map(async (each) => (await each.restores.get(systemCaller)).epoch?.id)),
    ),
    operators: Object.fromEntries(operators.map(({ public_key, username }) => [public_key, username])),
    events: events.map(({ event_type }) => event_type).toSorted(),
  };
  await Promise.all(all.map((each) => each.stop()));
  return told;
}

const seeds = Array.from({ length: 40 }, (_, index) => index + 1);

test("one of them makes key, epoch and Admin, and the others take them", async () => {
  for (const seed of seeds) {
    const admins = Array.from({ length: 3 }, () => [{ public_key: ada, username: "ada" }]);
    const told = await startAtOnce(new MemoryStorage({ clock }), seed, admins);
    expect([told.keys.size, told.epochs.size]).toEqual([1, 1]);
    expect(told.operators).toEqual({ [ada]: "ada" });
    expect(told.events).toEqual(["operator.added"]);
  }
});

test("of two Admins that are to have one name, one has it", async () => {
  for (const seed of seeds) {
    const admins = [ada, bob].map((public_key) => [{ public_key, username: "admin" }]);
    const { operators, events } = await startAtOnce(new MemoryStorage({ clock }), seed, admins);
    expect(Object.keys(operators).toSorted()).toEqual([ada, bob].toSorted());
    expect(Object.values(operators).toSorted()).toEqual([
      "admin",
      expect.stringMatching(/^admin-[0-9a-f]{8}$/),
    ]);
    expect(events).toEqual(["operator.added", "operator.added"]);
  }
});

test("one of them tells of a restore, and the others begin no epoch of their own", async () => {
  for (const seed of seeds) {
    const before = new MemoryStorage({ clock });
    const admins = [[{ public_key: ada, username: "ada" }]];
    const old = await startAtOnce(before, seed, admins);
    const restored = new MemoryStorage({ clock, data: before.restoredCopy() });
    const told = await startAtOnce(restored, seed, [...admins, ...admins, ...admins]);
    expect(told.keys).toEqual(old.keys);
    expect(told.epochs.size).toBe(1);
    expect(told.epochs).not.toEqual(old.epochs);
    expect(told.events).toEqual(["operator.added", "storage.restored"]);
  }
});
