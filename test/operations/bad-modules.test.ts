/** Bad modules, one by one: each ends as a clear fault, soon, and leaves the orchestrator and the agent at work. */
import { describe, expect, it, onTestFinished } from "vitest";
import { isOrchestratorError, systemCaller, type OperationDetail } from "fleetwright";
import { createTestOrchestrator, type TestOrchestrator } from "fleetwright/testing";
import { cpuMs } from "../support/cpu-time.ts";
import { startApprovedAgent } from "../support/fleet.ts";

const head = "name: bad\nresources:\n";
const keys = (count: number, line: (at: number) => string): string =>
  Array.from({ length: count }, (_, at) => line(at)).join("");

describe("an upload", () => {
  it.each<[name: string, text: string, fault: RegExp]>([
    [
      "a circle",
      `${head}  - { id: a, type: directory, path: /a, requires: [b] }\n  - { id: b, type: directory, path: /b, requires: [a] }\n`,
      /^3:5 These wait for each other: a -> b -> a\.$/,
    ],
    [
      "an unknown id",
      `${head}  - { type: directory, path: /a, requires: [zz] }\n`,
      /^3:45 There is no resource "zz"/,
    ],
    [
      "two owners of one path",
      `${head}  - { id: a, type: file, path: /a }\n  - { id: b, type: directory, path: /a }\n`,
      /^4:5 The directory \/a is declared on line 3 too\.$/,
    ],
    [
      "a template with an unknown name",
      `${head}  - { type: file, path: /a, content: "{{ params.x }}" }\n`,
      /^3:42 params\.x is not there/,
    ],
    [
      "a template that never ends",
      `${head}  - { type: file, path: /a, content: "{% for a in (1..9999999999) %}{% for b in (1..9999999999) %}x{% endfor %}{% endfor %}" }\n`,
      /^3:39 The templates of the module do too much\.$/,
    ],
    ["200,000 keys", keys(200_000, (at) => `${at.toString(36)}:\n`), /The text has too many parts/],
    ["200,000 short keys", `{${keys(200_000, () => "a,")}}`, /The text has too many parts/],
    [
      "aliases of aliases",
      `name: bad\nresources: []\na: &a [x,x]\n${keys(30, (at) => `b${at}: &b${at} [*a,*a]\n`)}`,
      /"a" is not known|Anchors are not allowed/,
    ],
    ["100,000 aliases", `- &a x\n${keys(100_000, () => "- *a\n")}`, /too many parts|not allowed/],
    ["deep lists", "[".repeat(100_000), /nested deeper/],
    [
      "a template with more expressions than one may have",
      `${head}  - { type: file, path: /a, content: "${"{{ x }}".repeat(9_999)}" }\n`,
      /^3:38 This text has more than 500 expressions\.$/,
    ],
  ])("is refused for %s, within a second of the processor's time", async (_name, content, fault) => {
    await using test = await createTestOrchestrator();
    const before = cpuMs();
    const error: unknown = await test.orchestrator.modules
      .upload(systemCaller, { content: content.slice(0, 524_288) })
      .catch((thrown: unknown) => thrown);
    const took = cpuMs() - before;
    if (!isOrchestratorError(error, "MODULE_INVALID")) throw error;
    expect(error.issues.map(({ line, column, message }) => `${line}:${column} ${message}`)[0]).toMatch(fault);
    expect(took).toBeLessThan(1000);
    expect((await test.orchestrator.modules.list(systemCaller)).items).toEqual([]);
  });
});

async function applied(
  content: string,
): Promise<{ detail: OperationDetail; test: TestOrchestrator; node_id: string }> {
  const test = await createTestOrchestrator();
  const agent = await startApprovedAgent(test);
  onTestFinished(async () => {
    await agent[Symbol.asyncDispose]();
    await test[Symbol.asyncDispose]();
  });
  const { modules, operations } = test.orchestrator;
  const { name } = await modules.upload(systemCaller, { content });
  const node_id = agent.nodeId;
  const { operation_id } = await operations.apply(systemCaller, {
    node_id,
    modules: [name],
    wait_seconds: 300,
  });
  return { detail: await operations.get(systemCaller, { operation_id }), test, node_id };
}

describe("an apply", () => {
  it("of a script that never ends is ended by its time limit, and the next operation runs", async () => {
    const script =
      '{ id: s, type: script, run: "while :; do :; done", creates: /never, timeout_seconds: 0.2 }';
    const { detail, test, node_id } = await applied(`${head}  - ${script}\n`);
    expect(detail).toMatchObject({
      status: "failed",
      resources: [{ outcome: "failed", code: "RESOURCE_TIMEOUT" }],
    });
    const next = await test.orchestrator.operations.plan(systemCaller, { node_id });
    expect(next.status).toBe("succeeded");
  });

  it("of a script that writes a gigabyte keeps the beginning, and no more memory than that needs", async () => {
    const before = process.memoryUsage().rss;
    let most = before;
    const watching = setInterval(() => (most = Math.max(most, process.memoryUsage().rss)), 20);
    onTestFinished(() => clearInterval(watching));
    const script = '{ id: s, type: script, run: "head -c 1000000000 /dev/zero; touch done", creates: /done }';
    const { detail, test, node_id } = await applied(`${head}  - ${script}\n`);
    const { operation_id } = detail;
    expect(detail).toMatchObject({ status: "succeeded", resources: [{ outcome: "changed" }] });
    const { output, truncated } = await test.orchestrator.operations.output(systemCaller, {
      node_id,
      operation_id,
    });
    expect([truncated, output.length, output[0]?.truncated]).toEqual([true, 1, true]);
    expect(output[0]?.text.length).toBe(256 * 1024);
    expect((most - before) / 2 ** 20).toBeLessThan(256);
  }, 120_000);

  it("of a resource that still differs afterwards fails, and says what differs", async () => {
    const { detail } = await applied(`${head}  - { id: s, type: script, run: "true", check: "false" }\n`);
    expect(detail).toMatchObject({
      status: "failed",
      resources: [
        { outcome: "failed", code: "NOT_CONVERGED", message: expect.stringContaining("run") as string },
      ],
    });
  });
});
