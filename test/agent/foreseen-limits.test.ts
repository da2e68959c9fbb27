/** What an apply that is bound to a plan may do to a resource of which the plan said this or that. */
import { describe, expect, test } from "vitest";
import { limitsOf } from "../../lib/agent/foreseen-limits.ts";
import { toUtf8 } from "../../lib/crypto/encoding.ts";
import { MemoryHost } from "../../lib/host/memory-host.ts";
import { planText } from "../../lib/state/plan-text.ts";
import type { Action, ResourceResult } from "../../lib/state/result.ts";
import type { ChangeGuard } from "../../lib/state/run/state-run.ts";
import type { MessageOf, OrchestratorMessage } from "../../lib/wire/messages.ts";
import { apply, resource } from "../support/agent-commands.ts";

type Said = Pick<ResourceResult, "outcome" | "action">;

const motd = resource({ id: "motd", type: "file", path: "/motd", content: "ours" });

function resultOf(said: Said, name = "motd"): ResourceResult {
  return {
    resource_id: name,
    module: "web",
    type: "file",
    identity: `/${name}`,
    changes: [],
    caused_by: [],
    attempts: 0,
    duration_ms: 0,
    ...said,
  };
}

/** The guard of an apply of a plan that said this. */
function planned(...said: ResourceResult[]): ChangeGuard {
  const host = new MemoryHost();
  const plan_digest = host.sha256(toUtf8(planText(said)));
  const command = apply(1, { plan_digest }) as MessageOf<OrchestratorMessage, "apply">;
  return limitsOf(command, host)!(said);
}

const all: Action[] = ["create", "update", "remove", "reload", "restart", "run", "forget"];
const allButRemoval = all.filter((action) => action !== "remove");

describe("an apply of a plan that said", () => {
  test.each<[Said["outcome"], Action, may: Action[]]>([
    ["would_change", "create", allButRemoval],
    ["would_change", "update", allButRemoval],
    ["would_change", "remove", all],
    ["unknown", "none", all],
    ["unknown", "create", all],
    // It did not count, and its cause may have passed.
    ["failed", "none", all],
    ["failed", "update", all],
    ["unchanged", "none", []],
    ["skipped", "none", []],
  ])("%s, %s", (outcome, action, may) => {
    const guard = planned(resultOf({ outcome, action }));
    for (const each of all) {
      const change = (): void => guard(motd, each);
      if (may.includes(each)) expect(change, each).not.toThrow();
      else expect(change, each).toThrow(expect.objectContaining({ code: "PLAN_STALE" }));
    }
  });

  test("nothing at all of a resource leaves it as it is", () => {
    const guard = planned(resultOf({ outcome: "would_change", action: "create" }, "other"));
    expect(() => guard(motd, "create")).toThrow(expect.objectContaining({ code: "PLAN_STALE" }));
  });
});

test("only removals count where they are limited, and each of them", () => {
  const command = apply(1, { max_removals: 2 }) as MessageOf<OrchestratorMessage, "apply">;
  const guard = limitsOf(command, new MemoryHost())!([resultOf({ outcome: "unknown", action: "none" })]);
  for (const action of allButRemoval) guard(motd, action);
  guard(motd, "remove");
  guard(motd, "remove");
  expect(() => guard(motd, "remove")).toThrow(expect.objectContaining({ code: "TOO_MANY_REMOVALS" }));
  expect(() => guard(motd, "update")).not.toThrow();
});

describe("an apply that may remove so many things", () => {
  const limited = (max_removals: number, said: readonly ResourceResult[]): (() => ChangeGuard) => {
    const command = apply(1, { max_removals }) as MessageOf<OrchestratorMessage, "apply">;
    return () => limitsOf(command, new MemoryHost())!(said);
  };
  const tooMany = (removals: number, max_removals: number) =>
    expect.objectContaining({ code: "TOO_MANY_REMOVALS", details: { removals, max_removals } });

  test.each<[Said["outcome"], counts: boolean]>([
    ["would_change", true],
    ["unknown", true],
    ["failed", false],
    ["skipped", false],
    ["unchanged", false],
  ])("counts what is foreseen as removed and %s: %s", (outcome, counts) => {
    const said = ["a", "b"].map((name) => resultOf({ outcome, action: "remove" }, name));
    expect(limited(2, said)).not.toThrow();
    if (counts) expect(limited(1, said)).toThrow(tooMany(2, 1));
    else expect(limited(0, said)).not.toThrow();
  });

  test.each(allButRemoval)("counts nothing that is to %s", (action) => {
    expect(limited(0, [resultOf({ outcome: "would_change", action })])).not.toThrow();
  });

  test.each([
    [1, "It would remove file /0, and may remove nothing."],
    [5, "It would remove file /0, file /1, file /2, file /3, file /4, and may remove nothing."],
    [6, "It would remove file /0, file /1, file /2, file /3, file /4 and 1 more, and may remove nothing."],
  ])("names the first five of %i", (count, message) => {
    const said = Array.from({ length: count }, (_, at) =>
      resultOf({ outcome: "would_change", action: "remove" }, String(at)),
    );
    expect(limited(0, said)).toThrow(`${message} Nothing was changed.`);
    expect(limited(count - 1, said)).toThrow(tooMany(count, count - 1));
  });

  test("holds it to the number also where it is bound to a plan", () => {
    const said = [resultOf({ outcome: "unknown", action: "none" })];
    const host = new MemoryHost();
    const plan_digest = host.sha256(toUtf8(planText(said)));
    const command = apply(1, { plan_digest, max_removals: 1 }) as MessageOf<OrchestratorMessage, "apply">;
    const guard = limitsOf(command, host)!(said);
    guard(motd, "remove");
    expect(() => guard(motd, "remove")).toThrow(expect.objectContaining({ code: "TOO_MANY_REMOVALS" }));
  });
});
