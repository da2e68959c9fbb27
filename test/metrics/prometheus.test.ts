import { expect, test } from "vitest";
import { systemCaller } from "fleetwright";
import { createTestOrchestrator, type TestOrchestrator } from "fleetwright/testing";
import { PrometheusText } from "../../lib/metrics/prometheus-text.ts";
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
    `# TYPE fleetwright_load_1 gauge\nfleetwright_load_1{${agent}} 0 ${now - 1_000}\n` +
      `# TYPE fleetwright_mount_used_bytes gauge\nfleetwright_mount_used_bytes{${agent},path="/"} 5 ${now - 1_000}\n`,
  );
  await test.clock.advance(301_000);
  expect(await read(test)).toBe("");
});

test.each([
  [15, 300],
  [60, 300],
  [600, 1_800],
])("with a sample every %i s, values are fresh for %i s", async (metricsIntervalSeconds, seconds) => {
  await using test = await createTestOrchestrator({ metricsIntervalSeconds });
  await using agent = await startApprovedAgent(test);
  await test.storage.series!.append(agent.nodeId, [{ at: test.clock.now(), values: { "load.1": 1 } }]);
  await test.clock.advance(seconds * 1_000);
  expect(await read(test)).toContain("fleetwright_load_1{");
  await test.clock.advance(1_000);
  expect(await read(test)).toBe("");
});

test("a selector that can't be read is refused, before anything is sent", async () => {
  await using test = await createTestOrchestrator();
  await expect(read(test, "role=")).rejects.toMatchObject({ code: "SELECTOR_INVALID" });
});

/** The text of these samples, each of an agent of its own. */
function textOf(...samples: Record<string, number>[]): string {
  const text = new PrometheusText();
  samples.forEach((values, index) => text.add({ node_id: `n${index}`, name: "w" }, { at: 2, values }));
  return [...text.pieces()].join("");
}

test("the lines of a metric stand together, whatever agents have and however much there is", () => {
  const samples = Array.from({ length: 3_000 }, (_, n) => ({
    "load.1": n,
    "cpu.percent": n,
    [`a.b${n % 7}`]: 1,
  }));
  const text = textOf(...samples);
  const metrics = text.match(/^\w+(?=\{)/gm) ?? [];
  expect(metrics).toHaveLength(9_000);
  const groups = metrics.filter((metric, index) => metric !== metrics[index - 1]);
  expect(groups).toHaveLength(9);
  expect(new Set(groups).size).toBe(groups.length);
  expect(text.match(/^# TYPE \w+/gm)?.map((line) => line.slice(7))).toEqual(groups);
});

test.each<[what: string, values: Record<string, number>, line: string]>([
  ["dots where the other has none", { "a.b": 1, a_b: 2 }, 'fleetwright_a_b{node_id="n0",name="w"} 1 2'],
  [
    "labels in another order",
    { "a{b=1,c=2}": 1, "a{c=2,b=1}": 2 },
    'fleetwright_a{node_id="n0",name="w",b="1",c="2"} 1 2',
  ],
])(
  "of two series that differ by %s alone the first counts, so that no line is there twice",
  (_what, values, line) => {
    expect(textOf(values).split("\n").slice(1)).toEqual([line, ""]);
  },
);

test("what the owner of a machine adds may be a counter, and is not called a gauge", () => {
  expect(textOf({ "custom.sent_total": 1 })).toMatch(/^# TYPE fleetwright_custom_sent_total untyped\n/);
});

test.each<[what: string, series: string, labels: string]>([
  ["quotes and backslashes", 'a.b{c="d\\e"}', ',c="\\"d\\\\e\\""'],
  ["line ends", "a{c=d\ne}", ',c="d\\ne"'],
  ["names of ours", "a{name=x,node_id=y}", ',_name="x",_node_id="y"'],
  ["names of Prometheus's own", "a{__name__=x,__address__=y}", ',label__address__="y",label__name__="x"'],
  ["names of ours twice", "a{name=x,name=y,name=z}", ',_label_name="z",_name="x",label_name="y"'],
  ["no labels", "a{what is this,c=d=e}", ',c="d=e",label="what is this"'],
])("labels with %s stay labels", (_what, series, labels) => {
  expect(textOf({ [series]: 1 })).toContain(`{node_id="n0",name="w"${labels}} 1 2\n`);
});
