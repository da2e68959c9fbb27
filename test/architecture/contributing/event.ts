/** An event: an agent has told what its machine is like. */
import { changelog, create, insert, type Places } from "./change.ts";

const registry = "lib/agents/registry.ts";

const test = `import { expect, test } from "vitest";
import { createTestOrchestrator } from "fleetwright/testing";
import { eventOf, startApprovedAgent } from "../support/fleet.ts";

test("what an agent tells of its machine is an event, with how much it told", async () => {
  await using product = await createTestOrchestrator();
  await using agent = await startApprovedAgent(product);
  await eventOf(product, "agent.attributesTold", agent.nodeId);
  const told = product.events.find(({ event_type }) => event_type === "agent.attributesTold");
  expect(told?.metadata).toEqual({ attributes: expect.any(Number) });
});
`;

export const event: Places = {
  Name: insert(
    "lib/events.ts",
    '  "agent.connected": {',
    '  "agent.attributesTold": { category: "agent", severity: "info", audited: false },\n',
  ),
  Facts: insert(
    "lib/event-metadata.ts",
    '  "agent.connected": NoMetadata;',
    '  "agent.attributesTold": { /** How many. */ attributes: number };\n',
  ),
  Section: insert(
    "docs/events.md",
    "## agent.connected\n",
    "## agent.attributesTold\n\nAn agent told what its machine is like.\n\nCategory agent, severity info, not audited.\n\n",
  ),
  Commit: insert(
    registry,
    "    // It may have been removed meanwhile, and what it told",
    `    await this.#context.tell("agent.attributesTold", () =>
      this.#context.commit(systemCaller, [], {
        type: "agent.attributesTold",
        target: agentSubject(agent),
        summary: \`\${agent.name ?? agent.hostname} told its attributes\`,
        metadata: { attributes: Object.keys(attributes).length },
      }),
    );
`,
  ),
  Test: create("test/agents/attributes-told.test.ts", test),
  Changelog: changelog("The event `agent.attributesTold` says that an agent told what its machine is like."),
};
