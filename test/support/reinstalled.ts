/** A machine that was installed anew: an old agent that is away, and a new one that waits. */
import { systemCaller } from "fleetwright";
import type { TestOrchestrator } from "fleetwright/testing";
import { approved, connect, leave } from "./leaving-agents.ts";

const content = "name: motd\nresources:\n  - { type: file, path: /etc/motd, content: hi }\n";

/** The old one is named machine-1, tagged, and has queued work. */
export async function reinstalled(test: TestOrchestrator): Promise<{ old: string; fresh: string }> {
  const { agents, modules, operations } = test.orchestrator;
  const gone = await approved(test, 1);
  const old = gone.nodeId;
  await agents.tags.replace(systemCaller, { node_id: old, tags: { role: "web", rack: "7" } });
  await modules.upload(systemCaller, { content });
  await leave(test, gone);
  const queue = {
    node_id: old,
    modules: ["motd"] as string[],
    when_offline: "queue",
    wait_seconds: 0,
  } as const;
  await operations.apply(systemCaller, queue);
  const { nodeId: fresh } = await connect(test, 2);
  return { old, fresh };
}
