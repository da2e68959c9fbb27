/** Two resources never fight: whatever declarations are taken together, the machine comes to rest. */
import fc from "fast-check";
import { expect, test } from "vitest";
import type { JsonObject } from "../../lib/json.ts";
import { findConflicts } from "../../lib/state/conflicts.ts";
import type { ResolvedResource } from "../../lib/state/resource.ts";
import { resourceTypes } from "../../lib/state/resources/index.ts";
import { accepted } from "../support/accepted.ts";
import { evilMode } from "../support/evil.ts";
import { declare, StateFixture } from "../support/state-fixture.ts";

const path = fc.constantFrom("/web", "/web-1");
const ensure = fc.constantFrom("present", "present", "absent");
const text = fc.constantFrom("k=1", "k=2", "x", "# BEGIN one", "# END two");
const pattern = fc.constantFrom("k=*", "*", "?", "# *", "x");
const create = fc.constant(true);

const end = fc.constantFrom("\n", "\r\n");
const lines = fc
  .tuple(
    fc.array(fc.oneof(text, fc.constantFrom("# BEGIN one", "# END one")), { maxLength: 5 }),
    end,
    fc.boolean(),
  )
  .map(([all, lineBreak, isEnded]) => all.join(lineBreak) + (isEnded && all.length > 0 ? lineBreak : ""));

const file = fc.oneof(
  fc.record({ type: fc.constant("file"), path, ensure, content: lines }),
  fc.record({ type: fc.constant("file"), path, mode: fc.oneof(fc.constantFrom("0600", "0644"), evilMode) }),
);
const line = fc
  .record({ type: fc.constant("line"), path, ensure, create, line: text, match: fc.option(pattern) })
  .map(({ match, ...rest }): JsonObject => (match === null ? rest : { ...rest, match }));
const place = fc.constantFrom("insert_after", "insert_before");
const block = fc
  .record({
    type: fc.constant("block"),
    path,
    ensure,
    create,
    name: fc.constantFrom("one", "two"),
    content: fc.array(text, { minLength: 1, maxLength: 3 }).map((all) => all.join("\n")),
    at: fc.option(fc.tuple(place, pattern)),
  })
  .map(({ at, ...rest }): JsonObject => (at === null ? rest : { ...rest, [at[0]]: at[1] }));
const entry = fc.record({
  type: fc.constant("host_entry"),
  ensure,
  name: fc.constantFrom("k", "K", "x"),
  ip: fc.constantFrom("10.0.0.1", "10.0.0.2"),
  aliases: fc.subarray(["k", "y"]),
});
const hosts = fc.oneof(
  entry,
  fc.record({
    type: fc.constant("line"),
    path: fc.constant("/etc/hosts"),
    create,
    line: fc.constantFrom("10.0.0.1 k", "10.0.0.1  x # mine", "# mine"),
  }),
  fc.record({
    type: fc.constant("file"),
    path: fc.constant("/etc/hosts"),
    content: fc.constantFrom("10.0.0.1 k y\n", "10.0.0.2\tx\n# mine\n"),
  }),
);

/** What can be declared: each thing once, as far as its own schema takes it. */
const drafts = fc.array(fc.oneof({ weight: 4, arbitrary: fc.oneof(line, block, file) }, hosts), {
  maxLength: 7,
});

function resolve(all: readonly JsonObject[]): ResolvedResource[] {
  return all.flatMap((draft, at) => {
    try {
      return declare([{ ...draft, id: `r${at}` }], `m${at}`);
    } catch {
      return [];
    }
  });
}

const found = fc.record({
  "/web": fc.option(lines),
  "/web-1": fc.option(lines),
  "/etc/hosts": fc.constantFrom(null, "10.0.0.9 k\n"),
});

/** A machine, with what others left in its files. */
function machineWith(standing: Record<string, string | null>): StateFixture {
  const state = new StateFixture();
  state.host.files.makeDirectory("/etc", {});
  for (const [at, content] of Object.entries(standing)) if (content !== null) state.write(at, content);
  return state;
}

/** Whether several resources of a set are about one file. */
function isShared(set: readonly ResolvedResource[]): boolean {
  const paths = set.map(({ spec }) => spec["path"]);
  return new Set(paths).size < paths.length;
}

async function requireRest(state: StateFixture, set: ResolvedResource[]): Promise<void> {
  const { results } = await state.run("apply", set);
  expect(results.filter(({ outcome }) => outcome !== "unchanged")).toEqual([]);
}

test("one apply makes what can be declared together, or fails", async () => {
  let shared = 0;
  const isOthers = (standing: object): boolean =>
    !Object.values(standing).some((each) => /# /.test(each ?? ""));
  await fc.assert(
    fc.asyncProperty(found.filter(isOthers), drafts, async (standing, all) => {
      const state = machineWith(standing);
      const set = accepted(resolve(all));
      if ((await state.run("apply", set)).status !== "succeeded") return;
      if (isShared(set)) shared += 1;
      await requireRest(state, set);
    }),
    { numRuns: 400 },
  );
  expect(shared).toBeGreaterThan(100);
});

// A line that an old block held is in place until the block has its new lines.
test("a second one does where what an earlier version wrote stands there", async () => {
  let shared = 0;
  await fc.assert(
    fc.asyncProperty(found, drafts, drafts, async (standing, first, second) => {
      const state = machineWith(standing);
      for (const set of [first, second].map(resolve).map(accepted)) {
        await state.run("apply", set);
        if ((await state.run("apply", set)).status !== "succeeded") continue;
        if (isShared(set)) shared += 1;
        await requireRest(state, set);
      }
    }),
    { numRuns: 300 },
  );
  expect(shared).toBeGreaterThan(100);
});

test("what can't be declared together is refused by the machine, too, before anything is changed", async () => {
  let refused = 0;
  await fc.assert(
    fc.asyncProperty(drafts, async (all) => {
      const resources = resolve(all);
      const state = new StateFixture();
      state.host.files.makeDirectory("/etc", {});
      if (findConflicts(resources, resourceTypes).length === 0) return;
      refused += 1;
      await expect(state.run("apply", resources)).rejects.toMatchObject({ code: "RESOURCE_CONFLICT" });
      expect(state.host.files.list("/")).toEqual(["etc"]);
    }),
    { numRuns: 300 },
  );
  expect(refused).toBeGreaterThan(30);
});
