import type { ClusterHandlers } from "./cluster/cluster.ts";
import { progressMethod, serveProgress } from "./operations/progress-pipe.ts";
import type { Services } from "./services.ts";
import { terminalCalls } from "./terminals/terminal-holders.ts";
import { attachMethod, serveViewer } from "./terminals/viewer-relay.ts";

/** What other processes may ask of this one. */
export function createClusterHandlers({
  idempotency,
  operations,
  terminals,
}: Pick<Services, "idempotency" | "operations" | "terminals">): ClusterHandlers {
  return {
    calls: new Map([...terminalCalls(terminals), ...idempotency.clusterCalls]),
    pipes: new Map([
      [progressMethod, (opened) => serveProgress(operations.parts, opened)],
      [attachMethod, (opened) => serveViewer((id) => terminals.require(id), opened)],
    ]),
  };
}
