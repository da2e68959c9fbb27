/** What calls about assignments take, and what they refuse. */
import { expect, test } from "vitest";
import {
  createAssignmentInput,
  rolloutStrategySchema,
  updateAssignmentInput,
} from "../../lib/assignments/schemas.ts";

const given = { name: "web", selector: "*", modules: ["web"] };
const names = (count: number): string[] => Array.from({ length: count }, (_, at) => `m${at}`);

type Bounds = [field: string, taken: unknown[], refused: unknown[]];

const strategy: Bounds[] = [
  [
    "batch",
    [1, 1_000_000, "1%", "9%", "10%", "99%", "100%"],
    [0, 1_000_001, 1.5, "0%", "00%", "01%", "101%", "1000%", "1", "1.5%", " 1%", "1%\n", null],
  ],
  [
    "max_failures",
    [0, 1_000_000, "0%", "1%", "10%", "100%"],
    [-1, 1_000_001, 0.5, "00%", "01%", "101%", "-1%", "1", "%", null],
  ],
  ["canary", [1, 1_000_000], [0, 1_000_001, 1.5, "1%", null]],
  ["pause_seconds", [0, 604_800], [-1, 604_801, 0.5, "1"]],
  ["group_by", ["env", "a.b-c_d"], ["", "a b", 1]],
  ["order", ["name", "node_id", "shuffled"], ["", "random"]],
  ["max_removals", [0, 20_000], [-1, 20_001, 0.5]],
  ["when_offline", ["fail", "queue"], ["", "wait"]],
  ["expires_in_seconds", [1, 2_592_000], [0, 2_592_001, 1.5]],
  ["colour", [], ["red"]],
];

test.each(strategy)("%s of a strategy has its bounds", (field, taken, refused) => {
  const takes = (value: unknown): boolean => rolloutStrategySchema.safeParse({ [field]: value }).success;
  expect(taken.filter((value) => !takes(value))).toEqual([]);
  expect(refused.filter(takes)).toEqual([]);
});

const fields: Bounds[] = [
  ["name", ["w", "0", `a.b_c-d`, "w".repeat(64)], ["", "w".repeat(65), "Web", "-w", "w\n", "w@1"]],
  ["description", ["", "x".repeat(1000)], ["x".repeat(1001), null]],
  ["selector", ["*", "x".repeat(4096)], ["", "x".repeat(4097), null]],
  [
    "modules",
    [["web"], ["web@1", "base"], ["web", "web"], ["web@999999999"], names(100)],
    [
      [],
      names(101),
      ["web", "web@1"],
      ["web@1", "web@2"],
      ["web@0"],
      ["web@01"],
      ["web@"],
      ["web@1000000000"],
    ],
  ],
  ["enforce", [true, false], [null, "true", 1]],
  ["unattended_removals", [true, false], [null, "true", 1]],
  ["colour", [], ["red"]],
];

test.each(fields)(
  "%s has the same bounds where an assignment is made and where it is changed",
  (...bounds) => {
    const [field, taken, refused] = bounds;
    for (const [input, rest] of [
      [createAssignmentInput, given],
      [updateAssignmentInput, { name: "web" }],
    ] as const) {
      const takes = (value: unknown): boolean => input.safeParse({ ...rest, [field]: value }).success;
      expect(taken.filter((value) => !takes(value))).toEqual([]);
      expect(refused.filter(takes)).toEqual([]);
    }
  },
);

test("null takes something away in a change alone, and what is required is asked for", () => {
  for (const field of ["rollout", "schedule", "managed_by"]) {
    expect(updateAssignmentInput.safeParse({ name: "web", [field]: null }).success).toBe(true);
    expect(createAssignmentInput.safeParse({ ...given, [field]: null }).success).toBe(false);
  }
  expect(createAssignmentInput.safeParse(given).success).toBe(true);
  for (const field of Object.keys(given))
    expect(createAssignmentInput.safeParse({ ...given, [field]: undefined }).success).toBe(false);
  expect(updateAssignmentInput.safeParse({}).success).toBe(false);
});

test("a module that is named twice in different revisions is told with the other, wherever it stands", () => {
  const messages = (modules: string[]): unknown[] =>
    createAssignmentInput
      .safeParse({ ...given, modules })
      .error!.issues.map(({ path, message }) => [path, message]);
  expect(messages(["web", "base", "web@1", "web", "web@2"])).toEqual([
    [["modules", 2], "names the same module as web"],
    [["modules", 4], "names the same module as web"],
  ]);
  expect(messages(["web@3", "web"])).toEqual([[["modules", 1], "names the same module as web@3"]]);
  expect(messages(["Web"])).toEqual([
    [["modules", 0], "a module, such as web, or one of its revisions, such as web@3"],
  ]);
});
