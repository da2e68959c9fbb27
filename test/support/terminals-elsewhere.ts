/** Two processes of one orchestrator on one storage: one holds the agent, operators come to the other. */
import {
  nodeCrypto,
  silentLogger,
  type Cluster,
  type FrameSocket,
  type OrchestratorOptions,
} from "fleetwright";
import { createTestOrchestrator, FakeClock, MemoryCluster, type TestOrchestrator } from "fleetwright/testing";
import { createClusterHandlers } from "../../lib/cluster-handlers.ts";
import { Context } from "../../lib/context.ts";
import { loadIdentity } from "../../lib/identity.ts";
import { servicesOf } from "../../lib/orchestrator.ts";
import { createServices, type Services } from "../../lib/services.ts";
import { Terminals } from "../../lib/terminals/terminals.ts";
import { newFolders, startApprovedAgent } from "./fleet.ts";
import { TestViewer } from "./terminal-viewer.ts";

export interface TerminalsElsewhere extends AsyncDisposable {
  /** The process that holds the agent. */
  test: TestOrchestrator;
  cluster: MemoryCluster;
  /** The member of the process where operators are, and that of the holder. */
  here: Cluster;
  there: Cluster;
  nodeId: string;
  /** Of the process where operators are. */
  context: Context;
  services: Services;
  /** The face of terminals where operators are. */
  terminals: Terminals;
  attach(sessionId: string, ticket: string, more?: object): TestViewer;
}

export async function terminalsElsewhere(
  options: Partial<OrchestratorOptions> = {},
): Promise<TerminalsElsewhere> {
  const cluster = new MemoryCluster({ clock: new FakeClock() });
  const [here, there] = [cluster.member(), cluster.member()];
  const test = await createTestOrchestrator({ ...options, cluster: there });
  const { clock, storage } = test;
  const agent = await startApprovedAgent(test, { ...newFolders(), clock });
  const { context: held } = servicesOf(test.orchestrator).operations.parts;
  const context = new Context({ ...held.options, cluster: here });
  context.feed.begin();
  const endFeed = await context.feed.start();
  const endTime = await context.fleetTime.start();
  const services = createServices(context);
  const { secret } = await loadIdentity(storage, nodeCrypto);
  services.access.start(secret);
  await services.agents.load();
  services.terminals.holders.holderOf = () => there.name;
  await here.start({ clock, crypto: nodeCrypto, logger: silentLogger }, createClusterHandlers(services));
  const endTerminals = await services.terminals.start();
  const terminals = new Terminals(context, services.terminals, services);
  return {
    test,
    cluster,
    here,
    there,
    nodeId: agent.nodeId,
    context,
    services,
    terminals,
    attach(sessionId, ticket, more = {}) {
      const viewer = new TestViewer((socket: FrameSocket) => terminals.accept(socket, sessionId));
      viewer.say({ type: "attach", ticket, ...more });
      return viewer;
    },
    async [Symbol.asyncDispose]() {
      await endTerminals();
      context.leaving.abort();
      await here.stop();
      await endTime();
      await endFeed();
      await agent[Symbol.asyncDispose]();
      await test[Symbol.asyncDispose]();
    },
  };
}
