/** The check of a key that says nothing about who holds it is made once for each key, and left out for none that is not known. */
import { expect, it } from "vitest";
import { nodeCrypto, systemCaller, type Crypto } from "fleetwright";
import { createTestOrchestrator } from "fleetwright/testing";
import { connectScriptedAgent } from "../support/scripted-agent.ts";

it("is not made for an approved agent that comes again, and is made again when it is none any more", async () => {
  let checks = 0;
  const crypto: Crypto = {
    ...nodeCrypto,
    isAcceptablePublicKey: (key) => {
      checks += 1;
      return nodeCrypto.isAcceptablePublicKey(key);
    },
  };
  await using test = await createTestOrchestrator({ crypto });
  const first = await connectScriptedAgent(test);
  const { nodeId: node_id, keys } = first;
  expect(checks).toBe(1);
  await first.link.stop();
  // One that waits to be approved may have come to be known in any way.
  await (await connectScriptedAgent(test, keys)).link.stop();
  expect(checks).toBe(2);
  await test.orchestrator.agents.setStatus(systemCaller, { node_id, status: "approved" });
  for (let again = 0; again < 3; again++) await (await connectScriptedAgent(test, keys)).link.stop();
  expect(checks).toBe(2);
  await using _other = await connectScriptedAgent(test);
  expect(checks).toBe(3);
});
