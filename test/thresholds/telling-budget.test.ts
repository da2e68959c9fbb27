/** What is remembered of what was told: no more than has not come back yet. */
import { expect, test } from "vitest";
import { FakeClock } from "fleetwright/testing";
import { TellingBudget } from "../../lib/thresholds/telling-budget.ts";

const hourMs = 3_600_000;

test("thresholds of which all has come back are forgotten, also where they are removed", async () => {
  const clock = new FakeClock();
  const budget = new TellingBudget(clock);
  // Each threshold is made, told of twice and removed, day after day.
  for (let day = 0; day < 50; day += 1) {
    for (let each = 0; each < 2; each += 1) budget.spend("agent", `threshold-${day}`);
    expect(budget.size).toBe(2);
    await clock.advance(24 * hourMs);
  }
});

test("agents are forgotten with what has come back of them", async () => {
  const clock = new FakeClock();
  const budget = new TellingBudget(clock);
  for (let agent = 0; agent < 100; agent += 1) budget.spend(`agent-${agent}`, "threshold");
  expect(budget.size).toBe(200);
  await clock.advance(hourMs);
  budget.spend("another", "threshold");
  expect(budget.size).toBe(2);
});

test("what has not come back yet is kept", async () => {
  const clock = new FakeClock();
  const budget = new TellingBudget(clock);
  for (let each = 0; each < 20; each += 1) budget.spend("agent", "noise");
  await clock.advance(hourMs);
  budget.spend("agent", "disk");
  expect(budget.left("agent", "noise")).toBe(10);
  expect(budget.left("agent", "disk")).toBe(19);
  expect(budget.left("agent", null)).toBe(59);
  await clock.advance(hourMs);
  budget.spend("agent", "disk");
  expect(budget.left("agent", "noise")).toBe(20);
  expect(budget.size).toBe(2);
});

test("what is told beyond the budget comes back as well", async () => {
  const clock = new FakeClock();
  const budget = new TellingBudget(clock);
  for (let each = 0; each < 80; each += 1) budget.spend("agent", `threshold-${each}`);
  expect(budget.left("agent", null)).toBe(-20);
  await clock.advance(hourMs);
  expect(budget.left("agent", null)).toBe(0);
});

test("of more than ten thousand agents the one of which nothing was told for longest is forgotten", () => {
  const budget = new TellingBudget(new FakeClock());
  for (let agent = 0; agent < 10_000; agent += 1) budget.spend(`agent-${agent}`, "threshold");
  expect(budget.size).toBe(20_000);
  budget.spend("agent-0", "threshold");
  const left = () => ["agent-0", "agent-1", "agent-2", "another"].map((agent) => budget.left(agent, null));
  expect(left()).toEqual([58, 59, 59, 60]);
  budget.spend("another", "threshold");
  expect(left()).toEqual([58, 60, 59, 59]);
  expect(budget.size).toBe(20_000);
});
