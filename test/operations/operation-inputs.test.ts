/** What calls about operations take, and what they refuse. */
import { expect, test } from "vitest";
import {
  applyInput,
  forgetInput,
  listAgentOperationsInput,
  listOperationsInput,
  planInput,
  watchOperationInput,
} from "../../lib/operations/schemas.ts";

const node_id = "0".repeat(32);
const operation_id = "0199d3a0-5f3c-7c1e-9a55-0d9f5f3e2b11";

test.each<[string, boolean]>([
  ["web", true],
  ["web/conf", true],
  [`w.e_b-1/${"x".repeat(300)}`, true],
  ["w".repeat(64), true],
  ["w".repeat(65), false],
  [`web/${"x".repeat(301)}`, false],
  ["web/", false],
  ["web\n", false],
  ["-web", false],
  ["Web", false],
  [" web", false],
  ["", false],
])("%j may be forgotten: %s", (name, may) => {
  expect(forgetInput.safeParse({ node_id, resources: [name] }).success).toBe(may);
});

test("something is forgotten, and a thousand things at most", () => {
  const many = (count: number): string[] => Array.from({ length: count }, (_, at) => `web/${at}`);
  const taken = [0, 1, 1000, 1001].map(
    (count) => forgetInput.safeParse({ node_id, resources: many(count) }).success,
  );
  expect(taken).toEqual([false, true, true, false]);
});

test.each<[field: string, taken: unknown[], refused: unknown[]]>([
  ["timeout_seconds", [1, 86_400], [0, 86_401, 1.5]],
  ["expires_in_seconds", [1, 2_592_000], [0, 2_592_001, 1.5]],
  ["when_offline", ["fail", "queue"], ["", "wait"]],
  ["remove_modules", [[], Array(100).fill("web")], [Array(101).fill("web"), ["web@1"], [""]]],
  ["modules", [[], ["web", "base@2"]], [["web", "web@1"], ["Web"]]],
])("%s of a plan and an apply has its bounds", (field, taken, refused) => {
  for (const input of [planInput, applyInput]) {
    for (const value of taken) expect(input.safeParse({ node_id, [field]: value }).success).toBe(true);
    for (const value of refused) expect(input.safeParse({ node_id, [field]: value }).success).toBe(false);
  }
});

test("only an apply carries out a plan, may leave nothing, is bounded and overrides windows", () => {
  const own = { plan_id: operation_id, allow_empty: true, max_removals: 0, override_window: true };
  expect(applyInput.safeParse({ node_id, ...own }).success).toBe(true);
  for (const [field, value] of Object.entries(own))
    expect(planInput.safeParse({ node_id, [field]: value }).success).toBe(false);
});

test("no call takes what it does not know, and each names its agent where it is about one", () => {
  const inputs = [
    [planInput, { node_id }],
    [applyInput, { node_id }],
    [forgetInput, { node_id, resources: ["web"] }],
    [listAgentOperationsInput, { node_id }],
  ] as const;
  for (const [input, given] of inputs) {
    expect(input.safeParse(given).success).toBe(true);
    expect(input.safeParse({ ...given, unknown: 1 }).success).toBe(false);
    expect(input.safeParse({ ...given, node_id: undefined }).success).toBe(false);
  }
  expect(listOperationsInput.safeParse({}).success).toBe(true);
  expect(listOperationsInput.safeParse({ unknown: 1 }).success).toBe(false);
});

test("a list takes every filter, alone and with others", () => {
  const filters = { kind: "run", status: "unknown", assignment: "web", from: "2030-01-01T00:00:00.000Z" };
  for (const input of [listOperationsInput, listAgentOperationsInput]) {
    expect(input.parse({ node_id, ...filters, limit: 10 })).toMatchObject(filters);
    for (const field of ["kind", "status"])
      expect(input.safeParse({ node_id, [field]: "none of them" }).success).toBe(false);
  }
});

test("whoever watches may say what it heard last", () => {
  const taken = [undefined, "x".repeat(200), "x".repeat(201)].map(
    (lastEventId) => watchOperationInput.safeParse({ operation_id, lastEventId }).success,
  );
  expect(taken).toEqual([true, true, false]);
});
