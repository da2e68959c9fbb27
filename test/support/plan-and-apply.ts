/** What an apply did, beside what a plan said that it would do. */
import type { StateRunResult } from "../../lib/state/run/engine.ts";

/** The results of an apply, without how long things took. */
export function told({ results }: StateRunResult): unknown[] {
  return results.map(
    ({ module, resource_id, outcome, action, changes, caused_by, skipped_because, code }) => {
      return { module, resource_id, outcome, action, changes, caused_by, skipped_because, code };
    },
  );
}

/** The same of a plan, as if it had been done. */
export function foretold(plan: StateRunResult): unknown[] {
  const results = plan.results.map((result) =>
    result.outcome === "would_change" ? { ...result, outcome: "changed" as const } : result,
  );
  return told({ ...plan, results });
}
