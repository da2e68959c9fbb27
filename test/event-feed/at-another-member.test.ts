/** Readers of events who go on at another member, which hears of commits after the one that they read from. */
import { expect, it, onTestFinished } from "vitest";
import { systemCaller, type EventStreamItem, type Tracked } from "fleetwright";
import { createTestOrchestrator, FakeClock } from "fleetwright/testing";
import { MemoryStorage } from "../../lib/storage/memory-storage.ts";
import type { CommittedChange, Storage } from "../../lib/storage/storage.ts";
import { settleAll } from "../support/deferred.ts";
import { handlesOf } from "../support/two-processes.ts";

type Told = Tracked<EventStreamItem>;

/** A handle that is told of commits when its member gets round to it. */
function lateHandle(storage: Storage): { storage: Storage; catchUp: () => void } {
  const untold: (() => void)[] = [];
  const follow: Storage["follow"] = (listener) =>
    storage.follow((changes: readonly CommittedChange[]) => untold.push(() => listener(changes)));
  return {
    storage: new Proxy(storage, {
      get: (target, name) => (name === "follow" ? follow : (Reflect.get(target, name, target) as unknown)),
    }),
    catchUp: () => untold.splice(0).forEach((tell) => tell()),
  };
}

async function members() {
  const clock = new FakeClock();
  const handle = handlesOf(new MemoryStorage({ clock }));
  const here = await createTestOrchestrator({ clock, storage: handle() });
  const late = lateHandle(handle());
  const there = await createTestOrchestrator({ clock, storage: late.storage });
  onTestFinished(() => there.orchestrator.stop());
  onTestFinished(() => here.orchestrator.stop());
  late.catchUp();
  const upload = (name: string) =>
    here.orchestrator.modules.upload(systemCaller, { content: `name: ${name}\nresources: []\n` });
  return { here, there, upload, catchUp: late.catchUp };
}

/** Reads on, for as long as anything comes. */
function readAll(stream: AsyncGenerator<Told, void>): Told[] {
  const told: Told[] = [];
  void (async () => {
    for await (const item of stream) told.push(item);
  })();
  onTestFinished(async () => void (await stream.return()));
  return told;
}

const nameOf = ({ item }: Told): string | undefined =>
  item.type === "event" ? item.event.target?.name : item.type;

it.each([
  ["nothing", []],
  ["one event", ["earlier"]],
  ["many events", Array.from({ length: 30 }, (_, at) => `earlier-${at}`)],
])(
  "miss nothing and get nothing twice where the member has heard of %s, but not of what they have read",
  async (_, heard) => {
    const { here, there, upload, catchUp } = await members();
    for (const name of heard) await upload(name);
    catchUp();
    await settleAll();
    const before = readAll(here.orchestrator.events.stream(systemCaller));
    for (const name of ["one", "two"]) await upload(name);
    await settleAll();
    expect(before.map(nameOf)).toEqual(["position", "one", "two"]);
    const lastEventId = before.at(-1)!.id;
    const after = readAll(there.orchestrator.events.stream(systemCaller, { lastEventId }));
    await settleAll();
    await upload("three");
    catchUp();
    await settleAll();
    expect(after.map(nameOf)).toEqual(["position", "three"]);
    expect(after[0]?.id).toBe(lastEventId);
  },
);

it("are told that something was missed where nobody has what they say that they have read", async () => {
  const { here, there, upload, catchUp } = await members();
  const before = readAll(here.orchestrator.events.stream(systemCaller));
  await upload("one");
  await settleAll();
  const [sequence = ""] = before.at(-1)!.id.split("-");
  const ids = [`${Number(sequence) + 1}-00000000`, `${sequence}-00000000`];
  for (const lastEventId of ids) {
    const after = readAll(there.orchestrator.events.stream(systemCaller, { lastEventId }));
    await settleAll();
    expect(after.map(nameOf)).toEqual(["reset"]);
  }
  catchUp();
});
