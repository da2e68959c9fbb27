import type { OrchestratorOptions } from "fleetwright";
import { createTestOrchestrator } from "fleetwright/testing";
import { eventOf, newFolders, startApprovedAgent } from "./fleet.ts";
import { TestViewer } from "./terminal-viewer.ts";

/** A terminal of a real shell that an Operator opened, over the memory transport. */
export async function openTerminal(
  opening: { shell?: string; cols?: number; rows?: number } = {},
  options: Partial<OrchestratorOptions> = {},
) {
  const test = await createTestOrchestrator(options);
  const agent = await startApprovedAgent(test, { ...newFolders(), clock: test.clock });
  const operator = await test.signIn("Operator", "ada");
  const { terminals } = test.orchestrator;
  const opened = await terminals.open(operator.caller, {
    node_id: agent.nodeId,
    shell: "/bin/sh",
    ...opening,
  });
  const { session_id } = opened;
  return {
    test,
    agent,
    operator,
    terminals,
    opened,
    attach(ticket: string, more: object = {}): TestViewer {
      const viewer = new TestViewer((socket) => terminals.accept(socket, session_id));
      viewer.say({ type: "attach", ticket, ...more });
      return viewer;
    },
    /** Resolves when its end is written. */
    async ended(): Promise<void> {
      await Promise.race([
        eventOf(test, "terminal.closed", session_id),
        eventOf(test, "terminal.interrupted", session_id),
      ]);
    },
    async [Symbol.asyncDispose]() {
      await agent[Symbol.asyncDispose]();
      await test[Symbol.asyncDispose]();
    },
  };
}

/** All of a transcript. */
export async function textOf(pieces: AsyncIterable<Uint8Array>): Promise<string> {
  const all: Uint8Array[] = [];
  for await (const piece of pieces) all.push(piece);
  return Buffer.concat(all).toString();
}
