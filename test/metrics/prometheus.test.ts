import { expect, test } from "vitest";
import { systemCaller } from "fleetwright";
import { createTestOrchestrator, type TestOrchestrator } from "fleetwright/testing";
import { toPrometheusLines } from "../../lib/metrics/prometheus-text.ts";
import { startApprovedAgent } from "../support/fleet.ts";

async function read(test: TestOrchestrator, selector?: string): Promise<string> {
  let text = "";
  const input = selector === undefined ? {} : { selector };
  for await (const piece of await test.orchestrator.metrics.prometheus(systemCaller, input)) text += piece;
  return text;
}

test("the newest values of the agents that a selector matches, of those that are fresh", async () => {
  await using test = await createTestOrchestrator();
  await using first = await startApprovedAgent(test);
  await using second = await startApprovedAgent(test);
  await test.orchestrator.agents.tags.set(systemCaller, { node_id: first.nodeId, key: "role", value: "web" });
  const now = test.clock.now();
  for (const [index, { nodeId }] of [first, second].entries())
    await test.storage.series!.append(nodeId, [
      { at: now - 60_000, values: { "load.1": 9 } },
      { at: now - 1_000, values: { "load.1": index, "mount.used_bytes{path=/}": 5 } },
    ]);
  expect((await read(test)).match(/^fleetwright_load_1\{/gm)).toHaveLength(2);
  const { name } = await test.orchestrator.agents.get(systemCaller, { node_id: first.nodeId });
  const agent = `node_id="${first.nodeId}",name="${name}"`;
  expect(await read(test, "role=web")).toBe(
    `fleetwright_load_1{${agent}} 0 ${now - 1_000}\nfleetwright_mount_used_bytes{${agent},path="/"} 5 ${now - 1_000}\n`,
  );
  await test.clock.advance(301_000);
  expect(await read(test)).toBe("");
});

test("a selector that can't be read is refused, before anything is sent", async () => {
  await using test = await createTestOrchestrator();
  await expect(read(test, "role=")).rejects.toMatchObject({ code: "SELECTOR_INVALID" });
});

test.each<[what: string, series: string, expected: string]>([
  ["quotes and backslashes", 'a.b{c="d\\e"}', 'fleetwright_a_b{node_id="n",name="w",c="\\"d\\\\e\\""} 1 2\n'],
  ["line ends", "a{c=d\ne}", 'fleetwright_a{node_id="n",name="w",c="d\\ne"} 1 2\n'],
  [
    "names of ours",
    "a{name=x,node_id=y}",
    'fleetwright_a{node_id="n",name="w",_name="x",_node_id="y"} 1 2\n',
  ],
  [
    "no labels",
    "a{what is this,c=d=e}",
    'fleetwright_a{node_id="n",name="w",label="what is this",c="d=e"} 1 2\n',
  ],
])("labels with %s stay labels", (_what, series, expected) => {
  expect(toPrometheusLines({ node_id: "n", name: "w" }, { at: 2, values: { [series]: 1 } })).toBe(expected);
});
