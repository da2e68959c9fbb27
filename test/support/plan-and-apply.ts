/** What an apply did, beside what a plan said that it would do. */
import { resourceKey } from "../../lib/state/resource.ts";
import type { ResourceResult } from "../../lib/state/result.ts";
import type { StateRunResult } from "../../lib/state/run/engine.ts";

/** The results of an apply, without how long things took. */
export function told({ results }: StateRunResult): unknown[] {
  return results.map(
    ({ module, resource_id, outcome, action, changes, caused_by, skipped_because, code }) => {
      return { module, resource_id, outcome, action, changes, caused_by, skipped_because, code };
    },
  );
}

/**
 * The same of a plan, as if it had been done. What it does not know is as the apply found it, as long as that is what was
 * declared; and what changes may have been caused by more than what was sure to.
 */
export function foretold(plan: StateRunResult, applied: StateRunResult): unknown[] {
  const unknown = new Set<string>();
  const results = plan.results.map((said, at): ResourceResult => {
    const done = applied.results[at];
    if (said.outcome === "unknown") {
      unknown.add(resourceKey(said));
      requireWaiting(said, plan.results.slice(0, at));
      const isSettled = done?.outcome === "unchanged" || done?.outcome === "changed";
      return isSettled && isSame(said, done) ? done : said;
    }
    if (said.outcome !== "would_change") return said;
    const { module, caused_by } = said;
    const more = (done?.caused_by ?? []).filter((id) => {
      return caused_by.includes(id) || unknown.has(resourceKey({ module, resource_id: id }));
    });
    return { ...said, outcome: "changed", caused_by: more.length > caused_by.length ? more : caused_by };
  });
  return told({ ...plan, results });
}

function isSame(one: ResourceResult, other: ResourceResult): boolean {
  return (
    resourceKey(one) === resourceKey(other) && one.type === other.type && one.identity === other.identity
  );
}

/** What waits for another names one that comes before it and is not said to stay as it is. */
function requireWaiting(said: ResourceResult, before: readonly ResourceResult[]): void {
  if (said.until === undefined) return;
  const { module, until } = said;
  const found = before.find(
    (each) => resourceKey(each) === until || (each.module === module && each.resource_id === until),
  );
  if (found?.outcome !== "would_change" && found?.outcome !== "unknown")
    throw new Error(`${resourceKey(said)} waits for ${until}, which is ${found?.outcome}.`);
}
