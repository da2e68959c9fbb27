import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { matchesSelector } from "../../lib/selectors/match.ts";
import { parseSelector } from "../../lib/selectors/parse.ts";
import { SelectorIndex } from "../../lib/selectors/selector-index.ts";
import type { SelectorTarget } from "../../lib/selectors/selector.ts";
import { cpuMsOf } from "../support/cpu-time.ts";
import { anySelector, anyTarget } from "../support/selectors.ts";

describe("SelectorIndex", () => {
  it("finds what looking at every agent finds, whatever was set and deleted before", () => {
    const step = fc.oneof(
      { weight: 4, arbitrary: anyTarget },
      { weight: 1, arbitrary: fc.constantFrom("a1", "b2", "c3") },
    );
    fc.assert(
      fc.property(
        fc.array(step, { maxLength: 12 }),
        fc.array(anySelector, { minLength: 1, maxLength: 4 }),
        (steps, selectors) => {
          const index = new SelectorIndex();
          const targets = new Map<string, SelectorTarget>();
          for (const each of steps) {
            // Asked between the changes, so that attributes are indexed early and kept up.
            index.match(selectors[0] as (typeof selectors)[0]);
            if (typeof each === "string") expect(index.delete(each)).toBe(targets.delete(each));
            else {
              index.set(each);
              targets.set(each.node_id, each);
            }
          }
          for (const selector of selectors) {
            const expected = [...targets.values()]
              .filter((target) => matchesSelector(selector, target))
              .map((target) => target.node_id)
              .sort();
            expect(index.match(selector)).toEqual(expected);
            expect(index.count(selector)).toBe(expected.length);
            expect(pagesOf(index, selector)).toEqual(expected);
            expect(index.some(selector, () => true)).toBe(expected.length > 0);
            expect(index.some(selector, (nodeId) => nodeId !== expected[0])).toBe(expected.length > 1);
          }
        },
      ),
      { numRuns: 1000 },
    );
  });

  it("sums up the tags in use and forgets those that nobody has any more", () => {
    const index = new SelectorIndex();
    index.set(agent("a", { env: "prod", role: "web" }));
    index.set(agent("b", { env: "dev" }));
    index.set(agent("c", { env: "prod", constructor: "x" }));
    for (const id of ["d", "e"]) index.set(agent(id, { env: "test", rack: "r1" }));
    index.set(agent("d", { env: "prod" }));
    for (const id of ["d", "e"]) index.delete(id);
    index.delete("a");
    index.set(agent("b", { env: "prod" }));
    expect(index.tagSummary()).toEqual([
      { key: "constructor", values: [{ value: "x", count: 1 }] },
      { key: "env", values: [{ value: "prod", count: 2 }] },
    ]);
  });

  it.each(["env in (prod,prod)", "env notin (dev,dev)", "node_id in (a,b,a)", "env=prod or env=prod"])(
    "finds and counts each agent once by %s",
    (text) => {
      const index = new SelectorIndex();
      for (const id of ["a", "b"]) index.set(agent(id, { env: "prod" }));
      for (const id of ["c", "d"]) index.set(agent(id, { env: "dev" }));
      const selector = parseSelector(text);
      expect([index.match(selector), index.count(selector)]).toEqual([["a", "b"], 2]);
      expect(index.page(selector, { limit: 2 })).toEqual({ items: ["a", "b"], next: null });
    },
  );

  it("goes on with a page after an agent that is gone", () => {
    const index = new SelectorIndex();
    for (const id of ["a", "b", "c"]) index.set(agent(id, { env: "prod" }));
    const first = index.page(parseSelector("env=prod"), { limit: 2 });
    index.delete("b");
    expect(first).toEqual({ items: ["a", "b"], next: "b" });
    expect(index.page(parseSelector("env=prod"), { after: "b", limit: 2 })).toEqual({
      items: ["c"],
      next: null,
    });
  });

  it("finds a few among 100,000 agents without looking at all", () => {
    const fleet = largeFleet(100_000);
    const index = new SelectorIndex();
    for (const each of fleet) index.set(each);
    expect(index.match(parseSelector("rack=r7,role=web"))).toHaveLength(100);
    index.match(parseSelector("attr.hostname=h1"));
    const askedMs = cpuMsOf(() => {
      for (let run = 0; run < 100; run += 1) {
        index.match(parseSelector(`rack=r${run},role=web`));
        index.match(parseSelector(`attr.hostname=h${run}`));
        index.count(parseSelector("env!=prod"));
        index.page(parseSelector("env=prod"), { after: "n000500", limit: 50 });
      }
    });
    const selector = parseSelector("rack=r7,role=web");
    const looks = 10;
    const lookMs =
      cpuMsOf(() => {
        for (let look = 0; look < looks; look += 1) fleet.filter((each) => matchesSelector(selector, each));
      }) / looks;
    // 100 questions of each kind, none of which may look at every agent: measured against such a look, on the same machine.
    expect(askedMs).toBeLessThan(50 * lookMs);
  });
});

function pagesOf(index: SelectorIndex, selector: Parameters<SelectorIndex["match"]>[0]): string[] {
  const ids: string[] = [];
  let after: string | null = "";
  while (after !== null) {
    const page = index.page(selector, { after, limit: 2 });
    ids.push(...page.items);
    after = page.next;
  }
  return ids;
}

function agent(nodeId: string, tags: Record<string, string>): SelectorTarget {
  return { node_id: nodeId, name: null, tags, attributes: {} };
}

function largeFleet(size: number): SelectorTarget[] {
  return Array.from({ length: size }, (_, at) => ({
    node_id: `n${String(at).padStart(6, "0")}`,
    name: `agent-${at}`,
    tags: {
      env: at % 10 === 0 ? "dev" : "prod",
      role: at % 2 === 0 ? "web" : "db",
      rack: `r${Math.floor(at / 200)}`,
    },
    attributes: { hostname: `h${at}`, "cpu.count": at % 64 },
  }));
}
