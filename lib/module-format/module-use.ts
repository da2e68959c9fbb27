import { OrchestratorError } from "../errors.ts";
import { WorkBudget, type Work } from "../internal/work.ts";
import type { ResourceTypes } from "../state/resource-type.ts";
import {
  declaredParams,
  requirePossibleAgreement,
  resolveKnown,
  type KnownResource,
} from "./module-resources.ts";
import { findMissing, findValueFaults, valuesFor, type ParamValues } from "./params.ts";
import type { ParsedModule } from "./parsed-module.ts";

/** Modules that are used together, with values for their params. */
export interface ModuleUse {
  modules: readonly string[];
  params?: ParamValues | undefined;
  /** Revisions that some are pinned to, by name; of the others it is the newest. */
  pins?: Readonly<Record<string, number>> | undefined;
}

/** Refuses modules that can't be used together with these values; the codes are those of {@link Modules.requireCompatible}. */
export function* requireUsable(
  contents: readonly ParsedModule[],
  values: ParamValues,
  types: ResourceTypes,
): Work<void> {
  const declared = declaredParams(contents);
  const faults = [...(yield* findValueFaults(declared, values)), ...findMissing(declared, values)];
  if (faults.length > 0) throw new OrchestratorError("VALIDATION_FAILED", { issues: faults });
  const budget = new WorkBudget();
  const known: KnownResource[] = [];
  for (const content of contents) {
    const given = valuesFor(content.name, content.params, values);
    for (const each of yield* resolveKnown(content, { given, types, budget })) known.push(each);
  }
  requirePossibleAgreement(known, types);
}
