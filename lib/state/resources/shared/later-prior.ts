/** What a later version of a resource would change, and an earlier one left alone: it is noted before that, beside what was noted first. */
import type { Prior } from "../../resource-type.ts";

/** A prior with those properties of what stands `now` that it does not have. Only where both say that something stands. */
export function addMissing(prior: Prior, now: Prior): Prior {
  const isThere = [prior, now].every(({ spec }) => spec["ensure"] === "present");
  if (prior.type !== now.type || !isThere) return prior;
  const isNew = Object.keys(now.spec).some((name) => prior.spec[name] === undefined);
  return isNew ? { ...prior, spec: { ...now.spec, ...prior.spec } } : prior;
}
