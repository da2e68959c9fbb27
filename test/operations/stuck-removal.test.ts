import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { systemCaller } from "fleetwright";
import { createTestOrchestrator } from "fleetwright/testing";
import { startApprovedAgent } from "../support/fleet.ts";

test("a removal that can't succeed is listed, and keeps neither success nor baseline from the rest", async () => {
  await using fleet = await createTestOrchestrator();
  await using agent = await startApprovedAgent(fleet);
  const { assignments, modules, operations, drift } = fleet.orchestrator;
  const { nodeId: node_id, root } = agent;
  const upload = (resources: string) =>
    modules.upload(systemCaller, { content: `name: web\nresources:\n${resources}` });
  const rest = (content: string): string =>
    `  - { id: rest, type: file, path: /rest, content: "${content}" }\n`;
  const call = { node_id };
  await upload(`  - { id: gone, type: file, path: /gone, content: x }\n${rest("1")}`);
  await assignments.create(systemCaller, { name: "web", selector: "*", modules: ["web"] });
  expect((await operations.apply(systemCaller, call)).status).toBe("succeeded");
  rmSync(join(root, "gone"));
  mkdirSync(join(root, "gone"));
  await upload(rest("2"));
  expect((await operations.apply(systemCaller, call)).status).toBe("partial");

  await upload(rest("3"));
  const later = await operations.apply(systemCaller, call);
  expect(later).toMatchObject({ status: "succeeded", counts: { failed: 1, changed: 1 } });
  expect(readFileSync(join(root, "rest"), "utf8")).toBe("3");
  const believed = await operations.believed(systemCaller, { node_id });
  expect(believed.pending_removals).toMatchObject([{ module: "web", resource_id: "gone" }]);
  const found = await drift.check(systemCaller, { node_id });
  expect(found).toMatchObject({ status: "in_sync", baseline_operation_id: later.operation_id });
  writeFileSync(join(root, "rest"), "meddled");
  expect(await drift.check(systemCaller, { node_id })).toMatchObject({ status: "drifted" });

  rmSync(join(root, "gone"), { recursive: true });
  expect((await operations.apply(systemCaller, call)).counts).toMatchObject({ failed: 0, changed: 1 });
  expect((await operations.believed(systemCaller, { node_id })).pending_removals).toEqual([]);
});
