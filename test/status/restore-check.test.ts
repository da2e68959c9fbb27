/** What the status tells of a server that waits after a restore, or that agents have left for a newer one: both where it is both. */
import { expect, it } from "vitest";
import type { Context } from "../../lib/context.ts";
import { checkEpoch } from "../../lib/status/checks.ts";

const newer = { number: 7, id: "b", nodeId: "1".repeat(32) };
const paused = /^Paused after restore: /;
const superseded = /Superseded: agent 1{32} follows a newer server of epoch 7; this one is of epoch 3\.$/;

it.each([
  ["neither", false, null, []],
  ["paused", true, null, [paused]],
  ["superseded", false, newer, [superseded]],
  ["paused and superseded", true, newer, [paused, superseded]],
])("a server that is %s is told to be just that", (_, isPaused, supersededBy, told) => {
  const epochs = { isPaused, supersededBy, current: { number: 3, id: "a" } };
  const checks = checkEpoch({ epochs } as unknown as Context);
  expect(checks.map(({ name, status }) => [name, status])).toEqual(
    told.length === 0 ? [] : [["restore", "failed"]],
  );
  const detail = checks[0]?.detail ?? "";
  expect([paused, superseded].filter((each) => each.test(detail))).toEqual(told);
});
