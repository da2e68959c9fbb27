/** A change of nothing but the revision of a module is looked at as any other is. */
import { expect, test } from "vitest";
import { systemCaller, type OrchestratorError } from "fleetwright";
import { createTestOrchestrator } from "fleetwright/testing";
import { startApprovedAgent } from "../support/fleet.ts";

const moduleOf = (name: string, content: string): string =>
  `name: ${name}\nresources:\n  - { type: file, path: /etc/motd, content: "${content}" }\n`;

// Revisions of web: 1 says the same as base, 2 another, 3 the same again. Who is pinned to the newest and who gets it anyway part with the next.
test.each<[from: string, to: string, beside: string, outcome: string]>([
  ["web@1", "web@3", "base", "taken"],
  ["web@1", "web", "base", "taken"],
  ["web", "web@1", "base", "taken"],
  ["web", "web@3", "base", "taken"],
  ["web@3", "web@2", "base", "RESOURCE_CONFLICT"],
  ["web", "web@2", "base", "RESOURCE_CONFLICT"],
  ["web@1", "web@4", "base", "NOT_FOUND"],
  ["web", "web@4", "base", "NOT_FOUND"],
  ["web@1", "web@3", "web@1", "RESOURCE_CONFLICT"],
  ["web@1", "web", "web@1", "RESOURCE_CONFLICT"],
  ["web", "web@1", "web", "RESOURCE_CONFLICT"],
  ["web@3", "web", "web@3", "RESOURCE_CONFLICT"],
  ["web", "web@3", "web", "RESOURCE_CONFLICT"],
])("from %s to %s, beside an assignment of %s: %s", async (from, to, beside, outcome) => {
  await using fleet = await createTestOrchestrator();
  await using _agent = await startApprovedAgent(fleet);
  const { assignments, modules } = fleet.orchestrator;
  await modules.upload(systemCaller, { content: moduleOf("base", "same") });
  for (const content of ["same", "other", "same"])
    await modules.upload(systemCaller, { content: moduleOf("web", content) });
  await assignments.create(systemCaller, { name: "own", selector: "*", modules: [from] });
  await assignments.create(systemCaller, { name: "other", selector: "*", modules: [beside] });
  const changing = assignments.update(systemCaller, { name: "own", modules: [to] }).then(
    () => "taken",
    ({ code }: OrchestratorError) => code,
  );
  expect(await changing).toBe(outcome);
  const { modules: kept } = await assignments.get(systemCaller, { name: "own" });
  expect(kept).toEqual([outcome === "taken" ? to : from]);
});
