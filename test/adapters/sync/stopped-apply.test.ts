/** An apply that is told to stop while steps wait for each other. */
import { expect, test } from "vitest";
import type { FolderPlan, FolderStep } from "fleetwright";
import { ApiError, type Client } from "fleetwright/client";
import { applyPlan } from "../../../adapters/sync/apply-plan.ts";

const step = (kind: FolderStep["kind"], name: string): FolderStep =>
  ({
    action: "remove",
    kind,
    name,
    id: name,
    version: null,
    changes: [],
    values: {},
  }) as unknown as FolderStep;

const inUse = new ApiError({ type: "about:blank", title: "No.", status: 409, detail: "No.", code: "IN_USE" });

// The module waits for an assignment, and the window for the module, until those that may make room were tried.
const steps = [
  step("modules", "base"),
  step("windows", "nightly"),
  step("assignments", "a"),
  step("assignments", "b"),
  step("channels", "ops"),
];

test.each([0, 1, 2, 3, 4, 5])("before call %i loses no step: each is done or left", async (stopAt) => {
  const stop = new AbortController();
  const calls: string[] = [];
  const remove = async (name: string): Promise<void> => {
    calls.push(name);
    if (calls.length === stopAt) stop.abort();
    if (name === "base" && !calls.includes("b")) throw inUse;
  };
  if (stopAt === 0) stop.abort();
  const verbs = { remove };
  const client = {
    modules: verbs,
    assignments: verbs,
    maintenanceWindows: verbs,
    channels: verbs,
    operators: verbs,
  };
  const plan = { steps: [], removals: steps } as unknown as FolderPlan;
  const told: string[] = [];
  const { done, failed, left, half } = await applyPlan(client as unknown as Client, plan, {
    prune: true,
    onDone: ({ name }) => void told.push(name),
    signal: stop.signal,
  });
  const names = (all: readonly FolderStep[]): string[] => all.map(({ name }) => name);
  expect([failed, half, told]).toEqual([null, [], names(done)]);
  expect([...names(done), ...names(left)].toSorted()).toEqual(names(steps).toSorted());
  const order = ["base", "a", "b", "base", "nightly", "ops"];
  expect(calls).toEqual(order.slice(0, stopAt === 0 ? 0 : stopAt));
  // The first is refused, and is done when it is tried again.
  expect(names(done)).toEqual(order.slice(1, Math.max(1, stopAt)));
});
