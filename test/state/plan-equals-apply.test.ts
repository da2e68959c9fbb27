/** The property that makes a plan worth reading: an apply right after it does what it said, resource by resource. */
import fc from "fast-check";
import { expect, test } from "vitest";
import type { JsonObject } from "../../lib/json.ts";
import { planText } from "../../lib/state/plan-text.ts";
import type { ResolvedResource } from "../../lib/state/resource.ts";
import type { ResourceResult } from "../../lib/state/result.ts";
import { evilMode } from "../support/evil.ts";
import { foretold, told } from "../support/plan-and-apply.ts";
import { declare, StateFixture } from "../support/state-fixture.ts";

// Each path is of one kind of resource, since a plan can't know what a script or a second writer will do to a file.
const filePaths = ["/web", "/web-1", "/Web"];
const folderPaths = ["/d\u00e9", "/de\u0301", "/d.."];
const slot = fc.integer({ min: 0, max: 2 });
const content = fc.constantFrom("", "a\n", "b\nc\n");
const mode = fc.oneof(fc.constantFrom("0600", "0644"), evilMode);
const onFailure = fc.constantFrom("stop", "continue");

const folder = fc
  .record({ at: slot, mode, on_failure: onFailure, purge: fc.boolean() })
  .map(({ at, ...rest }) => ({
    id: `folder${at}`,
    type: "directory",
    path: folderPaths[at],
    ...rest,
  }));
const file = fc
  .record({
    at: slot,
    content,
    mode,
    ensure: fc.constantFrom("present", "absent"),
    force: fc.boolean(),
    on_failure: onFailure,
  })
  .map(({ at, ...rest }) => ({ id: `file${at}`, type: "file", path: filePaths[at], ...rest }));
const nested = fc.record({ at: slot, content }).map(({ at, ...rest }) => ({
  id: `nested${at}`,
  type: "file",
  path: `${folderPaths[at]}/n`,
  requires: [`folder${at}`],
  ...rest,
}));
const link = fc
  .record({ at: slot, target: fc.constantFrom("x", "y"), force: fc.boolean(), on_failure: onFailure })
  .map(({ at, ...rest }) => ({ id: `link${at}`, type: "symlink", path: `/l${at}`, ...rest }));
const line = fc
  .record({ at: slot, line: fc.constantFrom("k=1", "k=2"), ensure: fc.constantFrom("present", "absent") })
  .map(({ at, ...rest }) => ({
    id: `line${at}`,
    type: "line",
    path: `/c${at}`,
    match: "k=*",
    create: true,
    ...rest,
  }));
const script = fc
  .record({ at: slot, causes: fc.subarray(["file0", "file1", "link0", "line0", "script0"]) })
  .filter(({ at, causes }) => causes.length > 0 && !(at === 0 && causes.includes("script0")))
  .map(({ at, causes }) => ({ id: `script${at}`, type: "script", run: `touch s${at}`, run_on: causes }));

/** One resource an id, every id that is named there, and now and then the same again from a second module. */
const desired = fc
  .tuple(fc.array(fc.oneof(folder, file, nested, link, line, script), { maxLength: 14 }), fc.boolean())
  .map(([drafts, twice]): ResolvedResource[] => {
    const byId = new Map<string, JsonObject>(drafts.map((draft) => [draft.id, draft as JsonObject]));
    const kept = [...byId.values()].filter((draft) =>
      ((draft["requires"] ?? []) as string[]).every((id) => byId.has(id)),
    );
    const ids = new Set(kept.map((draft) => draft["id"]));
    const definitions = kept
      .map((draft) =>
        "run_on" in draft
          ? { ...draft, run_on: (draft["run_on"] as string[]).filter((id) => ids.has(id)) }
          : draft,
      )
      .filter((draft) => !("run_on" in draft) || (draft["run_on"] as string[]).length > 0);
    const withoutScripts = definitions.filter((draft) => draft["type"] !== "script");
    return [...keepKnown(definitions, "one"), ...(twice ? declare(withoutScripts, "two") : [])];
  });

/** Drops scripts that watch a script which was dropped. */
function keepKnown(definitions: JsonObject[], module: string): ResolvedResource[] {
  const ids = new Set(definitions.map((draft) => draft["id"]));
  const whole = definitions.filter((draft) =>
    ((draft["run_on"] ?? []) as string[]).every((id) => ids.has(id)),
  );
  return whole.length === definitions.length ? declare(whole, module) : keepKnown(whole, module);
}

/** What others left on the machine. */
const found = fc.array(
  fc.record({
    path: fc.constantFrom(...folderPaths, ...filePaths.slice(0, 2), "/l0", "/l1", "/c0", "/c1"),
    kind: fc.constantFrom("file", "directory", "symlink"),
    text: fc.constantFrom("a\n", "k=1\n", "z\nk=3\ny", "k=3\nk=4\n"),
  }),
  { maxLength: 8 },
);

test("an apply right after a plan is never stale and its outcomes equal the plan's, removals included", async () => {
  await fc.assert(
    fc.asyncProperty(found, desired, desired, async (things, first, second) => {
      const state = new StateFixture();
      for (const { path, kind, text } of things) {
        if (state.host.files.stat(path)) continue;
        if (kind === "file") state.write(path, text);
        else if (kind === "directory") {
          state.host.files.makeDirectory(path, {});
          for (const name of ["n", "stranger"]) state.write(`${path}/${name}`, text);
        } else state.host.files.makeSymlink(path, "elsewhere");
      }
      for (const set of [first, second, []]) {
        const plan = await state.run("plan", set);
        // What an apply of the plan is refused by, were it not true.
        const confirm = (seen: readonly ResourceResult[]): void =>
          expect(planText(seen)).toBe(planText(plan.results));
        const applied = await state.run("apply", set, { confirm });
        expect(told(applied)).toEqual(foretold(plan, applied));
      }
    }),
    { numRuns: 400 },
  );
});
