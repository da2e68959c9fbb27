/** What lists of agents tell of an agent once an apply of it has ended. */
import { describe, expect, test } from "vitest";
import type { KnownFindings } from "../../lib/agents/findings.ts";
import type { ApplyEnd } from "../../lib/operations/applied-modules.ts";
import type { AgentStateDocument, OperationDocument } from "../../lib/operations/documents.ts";
import { findingsAfter, isSettling } from "../../lib/operations/findings-after.ts";
import { operationDocument } from "../support/operation-document.ts";

const at = (second: number): string => new Date(second * 1_000).toISOString();
const operationOf = (more: Partial<OperationDocument> = {}): OperationDocument =>
  operationDocument({
    operation_id: "2",
    status: "succeeded",
    created_at: at(10),
    started_at: at(11),
    finished_at: at(12),
    begun_at: 11_000,
    ...more,
  });
const { started_at: _begun, begun_at: _when, ...unbegun } = operationOf();
const { begun_at: _unknown, ...ofEarlierVersion } = operationOf();
const { finished_at: _end, ...unfinished } = operationOf();

const state: AgentStateDocument = {
  node_id: "n",
  modules: {
    web: { revision: 2, operation_id: "2", assignments: [], applied: { revision: 2, operation_id: "2" } },
  },
};
const drifted = {
  drift: { drift_id: "d", status: "drifted", checked_at: at(5) },
  failed_drift_check: { drift_id: "f", checked_at: at(6) },
} satisfies KnownFindings;
const before: KnownFindings = {
  ...drifted,
  modules: { web: 1 },
  last_apply: { operation_id: "1", status: "failed", finished_at: at(3) },
  applied_at: 2_000,
};
const news = {
  last_apply: { operation_id: "2", status: "succeeded", finished_at: at(12) },
  applied_at: 11_000,
} satisfies KnownFindings;

describe("after an apply", () => {
  const applied = { state, end: "applied" as const };
  type After = { state: AgentStateDocument | null; end: ApplyEnd | null };
  test.each<[string, KnownFindings, OperationDocument, After, KnownFindings | null]>([
    [
      "of everything, all that had drifted is put right",
      before,
      operationOf(),
      applied,
      { ...news, modules: { web: 2 } },
    ],
    [
      "of some modules, what had drifted has still",
      before,
      operationOf({ scope: ["web"] }),
      applied,
      { ...drifted, ...news, modules: { web: 2 } },
    ],
    [
      "that put all in place and failed in a trigger, what had drifted has still",
      before,
      operationOf({ status: "partial" }),
      applied,
      { ...drifted, ...news, modules: { web: 2 }, last_apply: { ...news.last_apply, status: "partial" } },
    ],
    [
      "that says nothing of the machine, only that it ended is news",
      before,
      operationOf({ status: "failed" }),
      { state: null, end: null },
      { ...before, ...news, last_apply: { ...news.last_apply, status: "failed" } },
    ],
    [
      "of an agent of which nothing was known, nothing drifts",
      {},
      operationOf({ scope: ["web"] }),
      applied,
      { ...news, modules: { web: 2 } },
    ],
    [
      "that left no module, none is told",
      { modules: { web: 1 } },
      operationOf(),
      { state: { node_id: "n", modules: {} }, end: "applied" },
      news,
    ],
    ["that never began, nothing changes", before, unbegun, { state: null, end: null }, null],
    [
      "that is known late, the modules alone are news where another has begun since",
      { ...before, applied_at: 11_001 },
      operationOf(),
      applied,
      { ...before, applied_at: 11_001, modules: { web: 2 } },
    ],
    [
      "that is known late and says nothing, nothing is news where another has begun since",
      { ...before, applied_at: 11_001 },
      operationOf({ status: "failed" }),
      { state: null, end: null },
      null,
    ],
    [
      "that began when the newest did, it is told",
      { ...before, applied_at: 11_000 },
      operationOf(),
      applied,
      { ...news, modules: { web: 2 } },
    ],
    [
      "of an earlier version, it began when its clock said",
      {},
      ofEarlierVersion,
      { state: null, end: null },
      news,
    ],
    [
      "that has no time of its end, it ended when it was made",
      {},
      unfinished,
      { state: null, end: null },
      { ...news, last_apply: { ...news.last_apply, finished_at: at(10) } },
    ],
  ])("%s", (_, known, operation, after, expected) => {
    expect(findingsAfter(known, operation, after)).toEqual(expected);
  });

  test.each(["queued", "running"] as const)("that is still %s nothing is told of its end", (status) => {
    expect(findingsAfter(before, operationOf({ status }), { state: null, end: null })).toBeNull();
    expect(findingsAfter(before, operationOf({ status }), applied)).toEqual({
      ...before,
      modules: { web: 2 },
    });
  });

  test.each<[string, boolean, KnownFindings, OperationDocument, After]>([
    ["of everything that succeeded", true, before, operationOf(), applied],
    ["of some modules", false, before, operationOf({ scope: ["web"] }), applied],
    ["that owes a trigger", false, before, operationOf({ status: "failed" }), applied],
    ["that was not all done", false, before, operationOf(), { ...applied, end: "partial" }],
    ["that says nothing of the machine", false, before, operationOf(), { ...applied, state: null }],
    ["after which another has begun", false, { ...before, applied_at: 11_001 }, operationOf(), applied],
    ["that never began", false, before, unbegun, applied],
  ])("%s, whatever had drifted is right again: %s", (_, isRight, known, operation, after) => {
    expect(isSettling(known, operation, after)).toBe(isRight);
  });
});
