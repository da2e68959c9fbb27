import { expect, test } from "vitest";
import { z } from "zod";
import { resolveResource } from "../../lib/state/definition.ts";
import { defineResourceType, type ResourceType } from "../../lib/state/resource-type.ts";
import { FakeClock } from "../../lib/testing/fake-clock.ts";
import { createMachine, declare, StateFixture } from "../support/state-fixture.ts";

const files = (count: number) =>
  declare(Array.from({ length: count }, (_, index) => ({ type: "file", path: `/f${index}`, content: "x" })));

test("a long check gives way to others every few milliseconds", async () => {
  const host = createMachine();
  const clock = new FakeClock();
  const compare = host.files.compareFile.bind(host.files);
  let elapsedMs = 0;
  clock.monotonic = () => elapsedMs;
  host.files.compareFile = (path, content) => ((elapsedMs += 1), compare(path, content));
  let turns = 0;
  let running = true;
  const others = (): void => {
    if (!running) return;
    turns += 1;
    setImmediate(others);
  };
  setImmediate(others);
  await new StateFixture(host, clock).run("check", files(100));
  running = false;
  expect(turns).toBeGreaterThanOrEqual(15);
});

test("a check that is cancelled looks at no more", async () => {
  const host = createMachine();
  const controller = new AbortController();
  const compare = host.files.compareFile.bind(host.files);
  let looks = 0;
  host.files.compareFile = (path, content) => {
    if (++looks === 3) controller.abort();
    return compare(path, content);
  };
  const run = await new StateFixture(host).run("check", files(10), { signal: controller.signal });
  expect([looks, run.status]).toEqual([3, "cancelled"]);
});

test("one resource that can't be looked at does not keep the others from it", async () => {
  const state = new StateFixture();
  state.host.files.makeDirectory("/f0", {});
  const run = await state.run("check", files(2));
  expect(run.results.map(({ outcome, code }) => [outcome, code])).toEqual([
    ["failed", "HOST_ERROR"],
    ["would_change", undefined],
  ]);
});

test("a check that waits is made once, and its failure is that of its resource alone", async () => {
  let checks = 0;
  const slow = defineResourceType<{ name: string }>({
    type: "slow",
    summary: "A thing that is looked at slowly.",
    schema: z.strictObject({ name: z.string() }),
    identity: ({ name }) => name,
    async check() {
      checks += 1;
      await Promise.resolve();
      throw new Error("no");
    },
    apply() {},
    capture: () => null,
    describe: () => "",
  });
  const types = new Map([["slow", slow as ResourceType]]);
  const resolution = resolveResource({ type: "slow", name: "a" }, { module: "m", types });
  if (!resolution.ok) throw new Error("unreachable");
  const run = await new StateFixture().run("check", [resolution.resource], { types });
  expect([checks, run.results[0]?.code]).toEqual([1, "INTERNAL"]);
});
