/** What the calls that make and change thresholds answer, tell and refuse: each field by itself. */
import { describe, expect, it, onTestFinished } from "vitest";
import { systemCaller, type Orchestrator, type Threshold } from "fleetwright";
import { createTestOrchestrator, type TestOrchestrator } from "fleetwright/testing";

type Thresholds = Orchestrator["thresholds"];
type Given = Parameters<Thresholds["create"]>[1];
type Change = Omit<Parameters<Thresholds["update"]>[1], "id">;

/** One that has everything. */
const full = {
  name: "Disk full",
  metric: "mount.used_bytes",
  percent_of: "mount.total_bytes",
  condition: "above",
  value: 90,
  recovery_value: 85,
  for_seconds: 120,
  recovery_seconds: 30,
  severity: "critical",
  selector: "role=web",
  enabled: false,
  managed_by: { label: "shop", name: "one" },
} as const satisfies Given;

async function begin(): Promise<TestOrchestrator> {
  const test = await createTestOrchestrator();
  onTestFinished(() => test[Symbol.asyncDispose]());
  return test;
}

describe("a change of one field of a threshold leaves every other as it is", () => {
  const changes: [what: string, change: Change, expected?: Partial<Threshold>][] = [
    ["name", { name: "Disk" }],
    ["metric", { metric: "mount.used_bytes{path=/}" }],
    ["percent_of", { percent_of: "mount.free_bytes" }],
    ["value", { value: 85 }],
    ["recovery_value", { recovery_value: 90 }],
    ["for_seconds", { for_seconds: 0 }],
    ["recovery_seconds", { recovery_seconds: 0 }],
    ["severity", { severity: "info" }],
    [
      "selector, which is kept as the grammar prints it",
      { selector: " role = db " },
      { selector: "role=db" },
    ],
    ["enabled", { enabled: true }],
    ["managed_by", { managed_by: { label: "shop", name: "two" } }],
    ["condition, with what that asks for", { condition: "below", recovery_value: 95 }],
    ["nothing", {}],
  ];

  it.each(changes)("%s", async (_, change, expected = change as Partial<Threshold>) => {
    const { orchestrator, clock } = await begin();
    const { thresholds } = orchestrator;
    const before = await thresholds.create(systemCaller, full);
    expect(before).toMatchObject({ ...full, version: 1, changed_at: before.created_at });
    await clock.advance(1_000);
    const changed = await thresholds.update(systemCaller, { id: before.id, ...change });
    const changed_at = new Date(clock.now()).toISOString();
    expect(changed).toStrictEqual({ ...before, ...expected, changed_at, version: 2 });
    expect(await thresholds.get(systemCaller, { id: before.id })).toStrictEqual(changed);
    expect((await thresholds.list(systemCaller)).items).toStrictEqual([changed]);
  });

  it.each(["percent_of", "recovery_value", "selector", "managed_by"] as const)(
    "%s: null takes it away",
    async (what) => {
      const { thresholds } = (await begin()).orchestrator;
      const { [what]: _, ...rest } = await thresholds.create(systemCaller, full);
      const changed = await thresholds.update(systemCaller, { id: rest.id, [what]: null });
      expect(changed).toStrictEqual({ ...rest, changed_at: changed.changed_at, version: 2 });
      expect(await thresholds.get(systemCaller, { id: rest.id })).toStrictEqual(changed);
    },
  );
});

describe("a call about a threshold that is refused says why, and changes nothing", () => {
  const missing = "01900000-0000-7000-8000-000000000000";
  const notFound = { code: "NOT_FOUND", message: `There is no threshold ${missing}.` };
  const beyond = (message: string) => ({
    code: "VALIDATION_FAILED",
    issues: [{ path: ["recovery_value"], message }],
  });
  const outdated = { code: "PRECONDITION_FAILED", details: { version: 1 } };
  const other = { ...full, managed_by: { label: "shop", name: "other" } };
  const cases: Record<string, [call: (thresholds: Thresholds, id: string) => Promise<unknown>, why: object]> =
    {
      "a read of what is not there": [(all) => all.get(systemCaller, { id: missing }), notFound],
      "a change of what is not there": [
        (all) => all.update(systemCaller, { id: missing, value: 1 }),
        notFound,
      ],
      "a removal of what is not there": [(all) => all.remove(systemCaller, { id: missing }), notFound],
      "a change of another version": [
        (all, id) => all.update(systemCaller, { id, value: 95 }, { ifVersion: [2] }),
        outdated,
      ],
      "a removal of another version": [
        (all, id) => all.remove(systemCaller, { id }, { ifVersion: [2] }),
        outdated,
      ],
      "one that recovers above its limit": [
        (all) => all.create(systemCaller, { ...other, recovery_value: 90.5 }),
        beyond("must be at most value"),
      ],
      "one that recovers below its limit": [
        (all) => all.create(systemCaller, { ...other, condition: "below", recovery_value: 89.5 }),
        beyond("must be at least value"),
      ],
      "a change of the limit past where it recovers": [
        (all, id) => all.update(systemCaller, { id, value: 84 }),
        beyond("must be at most value"),
      ],
      "a change of the side on which it recovers": [
        (all, id) => all.update(systemCaller, { id, condition: "below" }),
        beyond("must be at least value"),
      ],
    };

  it.each(Object.entries(cases))("%s", async (_, [call, why]) => {
    const test = await begin();
    const { thresholds } = test.orchestrator;
    const made = await thresholds.create(systemCaller, full);
    const told = test.events.length;
    await expect(call(thresholds, made.id)).rejects.toMatchObject(why);
    expect((await thresholds.list(systemCaller)).items).toStrictEqual([made]);
    expect(test.events).toHaveLength(told);
  });

  it("a hundred and first", async () => {
    const { thresholds } = (await begin()).orchestrator;
    const { managed_by: _, ...given } = full;
    for (let each = 0; each < 100; each += 1) await thresholds.create(systemCaller, given);
    await expect(thresholds.create(systemCaller, given)).rejects.toMatchObject({
      code: "VALIDATION_FAILED",
      issues: [{ path: [], message: "there are 100 thresholds, which is the most" }],
    });
  });
});

it.each(["above", "below"] as const)(
  "one %s its limit may recover at the limit itself",
  async (condition) => {
    const { thresholds } = (await begin()).orchestrator;
    const given = { ...full, condition, recovery_value: 90 };
    expect(await thresholds.create(systemCaller, given)).toMatchObject(given);
  },
);

it("what is told of a threshold says what it became, and of one that is removed what it was", async () => {
  const { orchestrator, events } = await begin();
  const { thresholds } = orchestrator;
  const told = events.length;
  const { id } = await thresholds.create(systemCaller, full);
  const bare = { percent_of: null, selector: null, value: 95, enabled: true };
  await thresholds.update(systemCaller, { id, ...bare, name: "Disk" });
  await thresholds.remove(systemCaller, { id });
  const { metric, percent_of, condition, value, selector, severity, enabled } = full;
  const facts = { metric, percent_of, condition, value, selector, severity, enabled };
  expect(events.slice(told)).toMatchObject([
    {
      event_type: "metric.thresholdCreated",
      target: { type: "threshold", id, name: "Disk full" },
      summary: 'The threshold "Disk full" was created',
      metadata: facts,
    },
    {
      event_type: "metric.thresholdUpdated",
      target: { type: "threshold", id, name: "Disk" },
      summary: 'The threshold "Disk" was updated',
      metadata: { ...facts, ...bare },
    },
    {
      event_type: "metric.thresholdRemoved",
      target: { type: "threshold", id, name: "Disk" },
      summary: 'The threshold "Disk" was removed',
      metadata: { ...facts, ...bare },
    },
  ]);
});
