import type { ClusterHandlers } from "./cluster/cluster.ts";
import { progressMethod, serveProgress } from "./operations/progress-pipe.ts";
import type { Services } from "./services.ts";

/** What other processes may ask of this one. */
export function createClusterHandlers({ operations }: Services): ClusterHandlers {
  return {
    calls: new Map(),
    pipes: new Map([[progressMethod, (opened) => serveProgress(operations.parts, opened)]]),
  };
}
