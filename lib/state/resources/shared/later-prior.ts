/**
 * What a later version of a resource would change, and an earlier one left alone: it is noted before that, beside what was noted first.
 * A prior with `only_if_there` is one of what was declared: the rest was left alone, and is nothing to come back to.
 */
import type { Prior } from "../../resource-type.ts";

/**
 * A prior with those properties of what stands `now` that it does not have. Only where both say that something stands; what somebody
 * else took away is not what stood before a version that makes it anew.
 */
export function addMissing(prior: Prior, now: Prior): Prior {
  const { only_if_there: isPart, ...noted } = prior.spec;
  if (prior.type !== now.type || noted["ensure"] !== "present") return prior;
  if (now.spec["ensure"] !== "present") return isPart === true ? now : prior;
  if (isPart === true && now.spec["only_if_there"] !== true)
    return { ...prior, spec: { ...now.spec, ...noted } };
  const { only_if_there: _part, ...found } = now.spec;
  const isNew = Object.keys(found).some((name) => noted[name] === undefined);
  return isNew ? { ...prior, spec: { ...found, ...prior.spec } } : prior;
}
