import { describe, expect, it } from "vitest";
import type { Counts, Operation, Recap, ResourceResult } from "fleetwright";
import { describeTotals } from "../../../adapters/cli/show-groups.ts";
import { describeCounts, describeNext, describeResults } from "../../../adapters/cli/show-results.ts";
import { exitCodeOf } from "../../../adapters/cli/wait.ts";
import { diffText } from "../../../lib/state/text-diff.ts";

const result = (id: string, more: Partial<ResourceResult>): ResourceResult => ({
  resource_id: id,
  module: "web",
  type: "service",
  identity: id,
  outcome: "would_change",
  action: "none",
  changes: [],
  caused_by: [],
  attempts: 0,
  duration_ms: 0,
  ...more,
});

describe("the line of a resource", () => {
  it("has its action and what caused it, as the JSON has them", () => {
    const results = [
      result("a", { action: "create" }),
      result("b", { action: "update" }),
      result("c", { action: "remove" }),
      result("d", { action: "reload", caused_by: ["conf"] }),
      result("e", { action: "restart", caused_by: ["conf", "unit file"], message: "not checked yet" }),
      result("f", { action: "run", caused_by: ["d\u001b[2J"], outcome: "failed", code: "COMMAND_FAILED" }),
      result("owed", {
        action: "run",
        caused_by: ["conf"],
        owed_since: "01890000-0000-7000-8000-000000000001",
      }),
      result("un", {
        outcome: "unknown",
        until: "nginx",
        action: "none",
        message: "not checked yet: needs nginx first",
      }),
      result("g", { outcome: "unchanged" }),
      result("h", { outcome: "skipped", skipped_because: "dependency" }),
    ];
    expect(describeResults(results)).toEqual([
      "  + service  a     create   web",
      "  ~ service  b     update   web",
      "  - service  c     remove   web",
      "  ~ service  d     reload   web  caused by conf",
      "  ~ service  e     restart  web  caused by conf, unit file  not checked yet",
      "  ! service  f     run      web  caused by d\\u{1b}[2J  COMMAND_FAILED",
      "  ~ service  owed  run      web  caused by conf, owed since operation 01890000-0000-7000-8000-000000000001",
      "  ? service  un    none     web  not checked yet: needs nginx first",
      "  = service  g     none     web",
      "  . service  h     none     web  dependency",
    ]);
  });
});

describe("what differs in a file", () => {
  const shown = (before: string, after: string): string[] => {
    const diff = diffText("/etc/x", Buffer.from(before), Buffer.from(after)) ?? "";
    const changes = [{ property: "content", before: null, after: null, diff }];
    return describeResults([result("a", { changes })]).slice(1);
  };

  it.each([
    "---",
    "-- a comment of SQL",
    "--- of another diff",
    "++i;",
    "+++ of another diff",
    "=======",
    "Index: of a book",
    "@@ -1 +1 @@",
    "\\ No newline at end of file",
  ])("is shown line by line, also where one begins as a diff does: %s", (line) => {
    expect(shown("a\nb\n", `a\n${line}\nb\n`)).toEqual([
      "      content:",
      "        @@ -1,2 +1,3 @@",
      "         a",
      `        +${line}`,
      "         b",
    ]);
    expect(shown(`${line}\n`, "b\n").slice(2)).toEqual([`        -${line}`, "        +b"]);
    expect(shown("", `${line}\n`).slice(2)).toEqual([`        +${line}`]);
  });

  it("is shown as it is told where a type of its own tells it in another form", () => {
    const diff = "rows:\n--- 3\n+++ 4\n";
    const changes = [{ property: "table", before: null, after: null, diff }];
    expect(describeResults([result("a", { changes })]).slice(1)).toEqual([
      "      table:",
      "        rows:",
      "        --- 3",
      "        +++ 4",
    ]);
  });

  it("names no files, and says nothing of the end of the last line", () => {
    expect(shown("a", "b")).toEqual([
      "      content:",
      "        @@ -1,1 +1,1 @@",
      "        -a",
      "        +b",
    ]);
  });
});

describe("what is unknown", () => {
  const counts = {
    total: 3,
    unchanged: 1,
    changed: 0,
    would_change: 0,
    unknown: 2,
    removed: 0,
    failed: 0,
    skipped: 0,
  };

  it("is counted, and makes a plan one that may be applied and that differs", () => {
    expect(describeCounts(counts)).toBe("2 unknown, 1 unchanged");
    const plan = { kind: "plan", status: "succeeded", counts, operation_id: "1" } as Operation;
    expect(describeNext(plan)).toEqual(["  apply exactly this: fleetwright apply --plan 1"]);
    expect(exitCodeOf([plan])).toBe(3);
    expect(exitCodeOf([{ ...plan, counts: { ...counts, unknown: 0 } }])).toBe(0);
  });
});

describe("counts", () => {
  const counts = (given: Partial<Counts>): Counts => ({
    total: 9,
    unchanged: 0,
    changed: 0,
    would_change: 0,
    unknown: 0,
    removed: 0,
    failed: 0,
    skipped: 0,
    ...given,
  });
  it.each([
    [{}, "nothing to do"],
    [{ would_change: 3, removed: 1, unchanged: 5 }, "1 to remove, 2 to change, 5 unchanged"],
    [{ changed: 3, removed: 1 }, "1 removed, 2 changed"],
    [{ changed: 2, removed: 2, failed: 1, skipped: 3 }, "2 removed, 1 failed, 3 skipped"],
    [{ would_change: 2, removed: 2 }, "2 to remove"],
    [{ would_change: 2 }, "2 to change"],
  ])("%j say what goes first, and nothing twice", (given, told) => {
    expect(describeCounts(counts(given))).toBe(told);
  });

  it("of several agents say on how many something goes", () => {
    const recap = { resources: counts({ would_change: 4, removed: 3, unchanged: 4 }), removing: 2 } as Recap;
    expect(describeTotals(recap, true)).toBe("3 to remove on 2 agents, 1 to change, 4 unchanged");
    expect(describeTotals({ resources: counts({ changed: 1 }), removing: 0 } as Recap, true)).toBe(
      "1 changed",
    );
  });

  it("of several agents say that there are no results where an operation was refused before it began", () => {
    const nothing = { resources: counts({ total: 0 }), removing: 0 } as Recap;
    expect(describeTotals(nothing, false)).toBe("no results");
    expect(describeTotals(nothing, true)).toBe("nothing to do");
  });
});
