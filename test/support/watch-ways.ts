import { nodeCrypto, silentLogger, type Cluster } from "fleetwright";
import { createTestOrchestrator, FakeClock, MemoryCluster, type TestOrchestrator } from "fleetwright/testing";
import { createClusterHandlers } from "../../lib/cluster-handlers.ts";
import { isOpen } from "../../lib/operations/operation-store.ts";
import { ProgressFeeds } from "../../lib/operations/progress-feeds.ts";
import { servicesOf } from "../../lib/orchestrator.ts";

/** An orchestrator whose watchers ask another process for what operations tell. */
export interface WatchedElsewhere extends AsyncDisposable {
  test: TestOrchestrator;
  cluster: MemoryCluster;
  /** The member of who watches. */
  here: Cluster;
  /** The member of who holds the agents. */
  there: Cluster;
  /** What the holder has of operations that run. */
  heldFeeds: ProgressFeeds;
  /** Has another process hold the agents. */
  moveTo(holder: Cluster): void;
}

/**
 * The process that watches and the one that holds the agents, on one storage. Both have the services of one orchestrator, but each has
 * feeds of its own: what operations tell reaches watchers through pipes alone.
 */
export async function watchElsewhere(): Promise<WatchedElsewhere> {
  const cluster = new MemoryCluster({ clock: new FakeClock() });
  const [here, there] = [cluster.member(), cluster.member()];
  const test = await createTestOrchestrator({ cluster: here });
  const services = servicesOf(test.orchestrator);
  const context = { clock: test.clock, crypto: nodeCrypto, logger: silentLogger };
  const { operations } = services;
  const held = { ...operations.parts };
  const feeds = new ProgressFeeds();
  operations.store.watch((operation) => isOpen(operation) || feeds.end(operation.operation_id));
  operations.parts.feeds = feeds;
  const atHolder = {
    ...services,
    operations: Object.create(operations, { parts: { value: held } }) as never,
  };
  await there.start(context, createClusterHandlers(atHolder));
  const moveTo = (holder: Cluster): void => {
    operations.parts.holderOf = () => holder.name;
  };
  moveTo(there);
  return {
    test,
    cluster,
    here,
    there,
    heldFeeds: held.feeds,
    moveTo,
    async [Symbol.asyncDispose]() {
      await there.stop();
      await test.orchestrator.stop();
    },
  };
}

/** The ways in which an operation is watched: where its agent is, and from another process. */
export const watchWays: [way: string, create: () => Promise<AsyncDisposable & { test: TestOrchestrator }>][] =
  [
    [
      "in the process that holds its agent",
      async () => {
        const test = await createTestOrchestrator();
        return { test, [Symbol.asyncDispose]: () => test.orchestrator.stop() };
      },
    ],
    ["in another process", watchElsewhere],
  ];
