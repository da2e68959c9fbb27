import { describe, expect, it } from "vitest";
import type { ResourceResult } from "fleetwright";
import { describeResults } from "../../../adapters/cli/show-results.ts";

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
      "  = service  g     none     web",
      "  . service  h     none     web  dependency",
    ]);
  });
});
