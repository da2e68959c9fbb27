/** What an apply leaves known of the modules of an agent, and what one that waits may still do to them. */
import { describe, expect, test } from "vitest";
import {
  droppedBy,
  groundsOf,
  isOvertaken,
  isWhole,
  modulesAfter,
  presentModules,
  revisionsOf,
} from "../../lib/operations/applied-modules.ts";
import type {
  AgentStateDocument,
  AppliedModule,
  Grounds,
  OperationDocument,
} from "../../lib/operations/documents.ts";
import type { ResourceResult } from "../../lib/state/result.ts";
import { operationDocument } from "../support/operation-document.ts";

const module = (operation_id: string, more: Partial<AppliedModule> = {}): AppliedModule => ({
  revision: 1,
  operation_id,
  assignments: [],
  ...more,
});
const whole = (operation_id: string, more: Partial<AppliedModule> = {}): AppliedModule =>
  module(operation_id, { applied: { revision: 1, operation_id }, ...more });
const stateOf = (
  modules: AgentStateDocument["modules"],
  more: Partial<AgentStateDocument> = {},
): AgentStateDocument => ({ node_id: "n", ...(modules && { modules }), ...more });
const operationOf = (more: Partial<OperationDocument> = {}): OperationDocument =>
  operationDocument({
    operation_id: "2",
    status: "succeeded",
    modules: [{ name: "web", revision: 2 }],
    begun_at: 7,
    ...more,
  });
const resultOf = (of: string, more: Partial<ResourceResult>): ResourceResult => ({
  resource_id: "r",
  module: of,
  type: "file",
  identity: "/r",
  outcome: "changed",
  action: "remove",
  changes: [],
  caused_by: [],
  attempts: 1,
  duration_ms: 1,
  ...more,
});

describe("the modules of an agent, once an apply has ended,", () => {
  const before = { web: whole("1", { assignments: ["x"] }), old: whole("1", { assignments: ["y"] }) };
  const brought = {
    revision: 2,
    operation_id: "2",
    begun_at: 7,
    applied: { revision: 2, operation_id: "2" },
  };
  const tried = { ...brought, applied: { revision: 1, operation_id: "1" } };
  const leaving: AppliedModule = { ...before.old, operation_id: "2", begun_at: 7, leaving: true };
  const failed = { results: [resultOf("old", { outcome: "failed" })] };
  type After = Omit<Parameters<typeof modulesAfter>[2], "results"> & {
    results?: ResourceResult[];
    operation?: Partial<OperationDocument>;
    known?: AgentStateDocument["modules"];
  };
  const rows: [name: string, after: After, expected: AgentStateDocument["modules"]][] = [
    [
      "are those that it brought, by whoever brought them before, and no others",
      { end: "applied", isRepetition: false },
      { web: { ...brought, assignments: ["x"] } },
    ],
    [
      "are by the assignments that the apply names, where it names some of the module",
      { end: "applied", isRepetition: false, operation: { sources: { web: ["z"], other: ["y"] } } },
      { web: { ...brought, assignments: ["z"] } },
    ],
    [
      "are by those of before where the apply names some of others alone",
      { end: "applied", isRepetition: false, operation: { sources: { other: ["y"] } } },
      { web: { ...brought, assignments: ["x"] } },
    ],
    [
      "are left alone that it was not about",
      { end: "applied", isRepetition: false, operation: { scope: ["web", "never"] } },
      { web: { ...brought, assignments: ["x"] }, old: before.old },
    ],
    [
      "are leaving where what was to go failed to",
      { end: "applied", isRepetition: false, ...failed },
      { web: { ...brought, assignments: ["x"] }, old: leaving },
    ],
    ...(["unattended", "cancelled"] as const).map((skipped_because): (typeof rows)[number] => [
      `are leaving where what was to go was skipped as ${skipped_because}`,
      {
        end: "applied",
        isRepetition: false,
        results: [resultOf("old", { outcome: "skipped", skipped_because })],
      },
      { web: { ...brought, assignments: ["x"] }, old: leaving },
    ]),
    ...([{ outcome: "changed" }, { outcome: "skipped", skipped_because: "condition" }] as const).map(
      (result): (typeof rows)[number] => [
        `are gone where what was to go is told as ${result.outcome}, whatever failed of others`,
        {
          end: "applied",
          isRepetition: false,
          results: [resultOf("old", result), resultOf("web", { outcome: "failed" })],
        },
        { web: { ...brought, assignments: ["x"] } },
      ],
    ),
    [
      "are in place as before where not all was done, and leaving even where all of theirs is gone",
      { end: "partial", isRepetition: false, results: [resultOf("old", {})] },
      { web: { ...tried, assignments: ["x"] }, old: leaving },
    ],
    [
      "are in place where not all was done of what was whole and was to be brought again",
      { end: "partial", isRepetition: true, operation: { scope: ["web"] } },
      { web: { ...brought, assignments: ["x"] }, old: before.old },
    ],
    [
      "are in place as before where not all was done again of what was not whole",
      {
        end: "partial",
        isRepetition: true,
        known: { web: module("1", { applied: { revision: 1, operation_id: "0" } }) },
      },
      { web: { ...brought, assignments: [], applied: { revision: 1, operation_id: "0" } } },
    ],
    [
      "are as before, and doubtful, where nobody knows what it did",
      { end: "doubtful", isRepetition: false },
      { web: { ...before.web, doubtful: true }, old: { ...before.old, doubtful: true } },
    ],
    [
      "are tried and doubtful where they were new",
      { end: "doubtful", isRepetition: false, known: {} },
      { web: { revision: 2, operation_id: "2", begun_at: 7, assignments: [], doubtful: true } },
    ],
    [
      "are as before where they were whole, and nobody knows how it brought them again",
      { end: "doubtful", isRepetition: true, operation: { scope: ["web"] } },
      before,
    ],
    [
      "are doubtful where they were doubtful, and nobody knows how it brought them again",
      { end: "doubtful", isRepetition: true, known: { web: whole("1", { doubtful: true }) } },
      { web: whole("1", { doubtful: true }) },
    ],
  ];

  test.each(rows)("%s", (_name, { operation, known = before, results = [], ...apply }, expected) => {
    const { modules } = modulesAfter(stateOf(known), operationOf(operation), { results, ...apply });
    expect(modules).toEqual(expected);
  });

  test("have no time of their beginning where the apply has none", () => {
    const { begun_at: _none, ...operation } = operationOf({ modules: [{ name: "new", revision: 2 }] });
    const apply = { ...failed, end: "applied", isRepetition: false } as const;
    const { begun_at: _never, ...left } = leaving;
    expect(modulesAfter(stateOf({ old: before.old }), operation, apply).modules).toEqual({
      new: { revision: 2, operation_id: "2", assignments: [], applied: brought.applied },
      old: left,
    });
  });

  test("stay named by calls, the newest word first, but for those that the apply was to take away", () => {
    const named = { web: { revision: 1 }, old: {}, other: {} };
    const operation = operationOf({
      named: { web: { revision: 2 }, new: {} },
      extras: { remove_modules: ["old"] },
    });
    const apply = { results: [], end: "applied", isRepetition: false } as const;
    const after = modulesAfter(stateOf(before, { named }), operation, apply);
    expect(after.named).toEqual({ web: { revision: 2 }, other: {}, new: {} });
    expect(modulesAfter(null, operationOf(), apply).named).toEqual({});
  });
});

test("an agent has a module whose newest apply put it in place, and others may require one that is not leaving", () => {
  const modules = {
    web: whole("1"),
    never: module("1"),
    leaving: whole("1", { leaving: true }),
    doubtful: whole("1", { doubtful: true }),
    older: module("2", { applied: { revision: 3, operation_id: "1" } }),
  };
  expect(Object.entries(modules).flatMap(([name, each]) => (isWhole(each) ? name : []))).toEqual([
    "web",
    "leaving",
  ]);
  expect(isWhole(undefined)).toBe(false);
  expect([...presentModules(stateOf(modules))]).toEqual(["web", "doubtful", "older"]);
  expect([...revisionsOf(modules)]).toEqual([
    ["web", 1],
    ["leaving", 1],
    ["doubtful", 1],
    ["older", 3],
  ]);
  expect(presentModules(null).size + revisionsOf(undefined).size).toBe(0);
});

test("an assignment drops what it brought and neither it, nor another, nor a call wants any more", () => {
  const of = (...assignments: string[]): AppliedModule => whole("1", { assignments });
  const modules = { kept: of("x"), others: of("x"), named: of("x"), foreign: of("y"), old: of("x", "y") };
  const state = stateOf(modules, { named: { named: {} } });
  const isWanted = (name: string): boolean => name === "others";
  expect(droppedBy("x", { state, wanted: ["kept"], isWanted })).toEqual(["old"]);
});

describe("what an apply takes for given", () => {
  const named = { web: { revision: 3, params: { port: 1 } }, base: { revision: 1 }, constructor: {} };
  const state = stateOf({ web: whole("5"), base: whole("6") }, { named });

  test("is all that calls named, and the newest apply about each module that it takes away", () => {
    expect(groundsOf(state, { removed: ["base", "unknown"] })).toEqual({ named, removed: { base: "6" } });
    expect(groundsOf(null, { removed: ["base"] })).toEqual({ named: {}, removed: {} });
  });

  test("is of the modules that it is about alone, and of these the params alone, where it says so", () => {
    expect(groundsOf(state, { about: ["base"], removed: [] })).toEqual({
      about: ["base"],
      named: { base: { revision: 1 } },
      removed: {},
    });
    const about = ["web", "base"];
    expect(groundsOf(state, { about, only_params: true, removed: [] })).toEqual({
      about,
      only_params: true,
      named: { web: { params: { port: 1 } } },
      removed: {},
    });
  });
});

describe("an apply that waited", () => {
  const grounds = (more: Partial<Grounds> = {}): Grounds => ({ named: {}, removed: {}, ...more });
  type Row = [
    name: string,
    isOver: boolean,
    operation: Partial<OperationDocument>,
    state: AgentStateDocument | null,
  ];
  const rows: Row[] = [
    ["took nothing for given", false, {}, stateOf({ web: whole("3", { revision: 9 }) })],
    ["finds nothing known", false, { grounds: grounds() }, null],
    ["finds all as it was", false, { grounds: grounds() }, stateOf({ web: whole("1") })],
    [
      "finds a newer revision by a newer apply",
      true,
      { grounds: grounds() },
      stateOf({ web: module("3", { applied: { revision: 3, operation_id: "3" } }) }),
    ],
    [
      "finds a newer revision of one of its modules",
      true,
      {
        grounds: grounds(),
        modules: ["web", "base"].map((name) => ({ name, revision: 2 })),
      },
      stateOf({ base: module("3", { applied: { revision: 3, operation_id: "3" } }) }),
    ],
    ["brings nothing, and finds nothing of others", false, { grounds: grounds(), modules: [] }, stateOf({})],
    [
      "finds a newer revision by an older apply",
      false,
      { grounds: grounds() },
      stateOf({ web: module("1", { applied: { revision: 3, operation_id: "1" } }) }),
    ],
    [
      "finds its own revision by a newer apply",
      false,
      { grounds: grounds() },
      stateOf({ web: module("3", { applied: { revision: 2, operation_id: "3" } }) }),
    ],
    [
      "finds a newer revision that did not get in place",
      false,
      { grounds: grounds() },
      stateOf({ web: module("3", { revision: 3 }) }),
    ],
    [
      "names itself what is newer by now",
      false,
      { grounds: grounds(), named: { web: {} } },
      stateOf({ web: module("3", { applied: { revision: 3, operation_id: "3" } }) }),
    ],
    ["finds another module named", true, { grounds: grounds() }, stateOf({}, { named: { other: {} } })],
    [
      "finds what it brings named, and nothing said of it",
      false,
      { grounds: grounds() },
      stateOf({}, { named: { web: {} } }),
    ],
    [
      "finds what it brings pinned",
      true,
      { grounds: grounds() },
      stateOf({}, { named: { web: { revision: 1 } } }),
    ],
    [
      "finds what it brings named without the pin of before",
      true,
      { grounds: grounds({ named: { web: { revision: 1 } } }) },
      stateOf({}, { named: { web: {} } }),
    ],
    [
      "finds what it brings named as before, in another order",
      false,
      { grounds: grounds({ named: { web: {}, a: { revision: 1 } } }) },
      stateOf({}, { named: { a: { revision: 1 }, web: {} } }),
    ],
    [
      "finds named no longer what was named",
      true,
      { grounds: grounds({ named: { other: {} } }) },
      stateOf({}),
    ],
    [
      "finds another module named that it is not about",
      false,
      { grounds: grounds({ about: ["web"] }) },
      stateOf({}, { named: { other: {} } }),
    ],
    [
      "finds what it takes away brought anew",
      true,
      { grounds: grounds({ removed: { old: "1" } }) },
      stateOf({ old: whole("3") }),
    ],
    [
      "finds what it takes away as it was",
      false,
      { grounds: grounds({ removed: { old: "1" } }) },
      stateOf({ old: whole("1") }),
    ],
    [
      "finds what it takes away leaving already",
      false,
      { grounds: grounds({ removed: { old: "1" } }) },
      stateOf({ old: whole("3", { leaving: true }) }),
    ],
    [
      "finds what it takes away gone",
      false,
      { grounds: grounds({ removed: { old: "1" } }) },
      stateOf({ web: whole("1") }),
    ],
  ];

  test.each(rows)("and %s is overtaken: %s", (_name, isOver, operation, state) => {
    expect(isOvertaken(operationOf(operation), state)).toBe(isOver);
  });
});
