/** Two processes of one orchestrator on one storage and one clock, each whole, with agents of its own. */
import { FakeClock, createTestOrchestrator, type TestOrchestrator } from "fleetwright/testing";
import { MemoryStorage } from "../../lib/storage/memory-storage.ts";
import type { Storage } from "../../lib/storage/storage.ts";

/** The handles of a storage: it is opened with the first, and closed with the last. */
export function handlesOf(storage: Storage): () => Storage {
  let opened: Promise<void> | null = null;
  let open = 0;
  return () =>
    new Proxy(storage, {
      get(target, name) {
        if (name === "open")
          return async (schema: Parameters<Storage["open"]>[0]) => {
            open += 1;
            await (opened ??= target.open(schema));
          };
        if (name === "close") return async () => ((open -= 1) === 0 ? target.close() : undefined);
        const value: unknown = Reflect.get(target, name, target);
        return typeof value === "function" ? (value.bind(target) as unknown) : value;
      },
    });
}

export interface TwoProcesses extends AsyncDisposable {
  clock: FakeClock;
  storage: Storage;
  first: TestOrchestrator;
  second: TestOrchestrator;
}

/** Starts them. `storage` runs on the clock that it is given. */
export async function twoProcesses(
  create: (clock: FakeClock) => Storage = (clock) => new MemoryStorage({ clock }),
): Promise<TwoProcesses> {
  const clock = new FakeClock();
  const storage = create(clock);
  const handle = handlesOf(storage);
  const begin = async (): Promise<TestOrchestrator> => ({
    ...(await createTestOrchestrator({ clock, storage: handle() })),
    clock,
  });
  const first = await begin();
  const second = await begin();
  return {
    clock,
    storage,
    first,
    second,
    async [Symbol.asyncDispose]() {
      await second.orchestrator.stop();
      await first.orchestrator.stop();
    },
  };
}
