import { expect, it } from "vitest";
import { LineBudget } from "../../../adapters/cli/work/line-budget.ts";

it("lets each message have 100 lines in ten seconds and tells afterwards how many it left out", () => {
  let nowMs = 0;
  const told: [string, number][] = [];
  const budget = new LineBudget(
    (message, lines) => told.push([message, lines]),
    () => nowMs,
  );
  const taken = (message: string, times: number): number =>
    Array.from({ length: times }, () => budget.take(message)).filter(Boolean).length;
  expect(taken("An agent was refused.", 100)).toBe(100);
  expect(taken("An agent was refused.", 150)).toBe(0);
  expect(taken("The disk is full.", 100)).toBe(100);
  nowMs = 9_999;
  expect(taken("An agent was refused.", 1)).toBe(0);
  expect(told).toEqual([]);
  nowMs = 10_000;
  expect(taken("The disk is full.", 1)).toBe(1);
  expect(told).toEqual([["An agent was refused.", 151]]);
  nowMs = 20_000;
  expect(taken("An agent was refused.", 101)).toBe(100);
  expect(told).toHaveLength(1);
});

it("remembers a bounded number of messages, and lets all others share one budget", () => {
  const budget = new LineBudget(
    () => {},
    () => 0,
  );
  const taken = Array.from({ length: 5000 }, (_, n) => budget.take(`message ${n}`)).filter(Boolean).length;
  expect(taken).toBe(1100);
});
