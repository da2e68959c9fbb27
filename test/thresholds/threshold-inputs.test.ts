/** What calls about thresholds take, and what they refuse. */
import { expect, test } from "vitest";
import { createThresholdInput, listAlarmsInput, updateThresholdInput } from "../../lib/thresholds/schemas.ts";

const id = "0199d3a0-5f3c-7c1e-9a55-0d9f5f3e2b11";
const given = { name: "Busy", metric: "load.1", condition: "above", value: 4 };

const series: [taken: unknown[], refused: unknown[]] = [
  [
    "load",
    "load.1",
    "mount.used_bytes",
    "a.b.c_d1",
    "mount.used_bytes{path=/}",
    'm{a=Ä b,c="d"}',
    `m{${"x".repeat(190)}}`,
    `m.${"x".repeat(198)}`,
  ],
  [
    "",
    "Load",
    "1load",
    "load.",
    ".load",
    "load..1",
    "load 1",
    "load{}",
    "load{a=1",
    "load{a=1}b",
    "load{a={}}",
    "load{a=\n}",
    `m{${"x".repeat(191)}}`,
    `m.${"x".repeat(199)}`,
    1,
  ],
];

const fields: [field: string, taken: unknown[], refused: unknown[]][] = [
  [
    "name",
    ["B", "Disk full: 90 %", "Ä", "x".repeat(100)],
    ["", "x".repeat(101), "a\nb", "a\u0000", "\u202e"],
  ],
  ["metric", ...series],
  ["percent_of", ...series],
  ["condition", ["above", "below"], ["", "equal", null]],
  ["value", [0, -1e300, 1e300, 0.5], [1.1e300, -1.1e300, Number.NaN, Infinity, "4", null]],
  ["recovery_value", [0, -1e300, 1e300], [1.1e300, -1.1e300, Number.NaN, "4"]],
  ["for_seconds", [0, 86_400], [-1, 86_401, 0.5, "60", null]],
  ["recovery_seconds", [0, 86_400], [-1, 86_401, 0.5, "60", null]],
  ["severity", ["info", "warning", "critical"], ["", "error", null]],
  ["selector", ["*", "x".repeat(4096)], ["", "x".repeat(4097), 1]],
  ["enabled", [true, false], ["true", 1, null]],
  ["colour", [], ["red"]],
];

test.each(fields)(
  "%s has the same bounds where a threshold is made and where it is changed",
  (field, taken, refused) => {
    for (const [input, rest] of [
      [createThresholdInput, given],
      [updateThresholdInput, { id }],
    ] as const) {
      const takes = (value: unknown): boolean => input.safeParse({ ...rest, [field]: value }).success;
      expect(taken.filter((value) => !takes(value))).toEqual([]);
      expect(refused.filter(takes)).toEqual([]);
    }
  },
);

test("null takes something away in a change alone, and what is required is asked for", () => {
  for (const field of ["percent_of", "recovery_value", "selector", "managed_by"]) {
    expect(updateThresholdInput.safeParse({ id, [field]: null }).success).toBe(true);
    expect(createThresholdInput.safeParse({ ...given, [field]: null }).success).toBe(false);
  }
  expect(createThresholdInput.safeParse(given).success).toBe(true);
  for (const field of Object.keys(given))
    expect(createThresholdInput.safeParse({ ...given, [field]: undefined }).success).toBe(false);
  expect(updateThresholdInput.safeParse({}).success).toBe(false);
});

test("alarms are filtered by what is known of them, and by nothing else", () => {
  const filters = { threshold_id: id, node_id: "0".repeat(32), severity: "info", limit: 5 };
  expect(listAlarmsInput.parse(filters)).toEqual(filters);
  for (const [field, value] of [
    ["threshold_id", "x"],
    ["node_id", "x"],
    ["severity", "error"],
    ["limit", 0],
    ["agent", "web"],
  ] as const)
    expect([field, listAlarmsInput.safeParse({ ...filters, [field]: value }).success]).toEqual([
      field,
      false,
    ]);
});
