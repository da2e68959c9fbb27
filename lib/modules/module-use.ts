import { OrchestratorError } from "../errors.ts";
import { requirePossibleAgreement, resolveKnown } from "./module-resources.ts";
import { findMissing, findValueFaults, valuesFor, type ParamValues } from "./params.ts";
import type { ParsedModule } from "./parsed-module.ts";

/** Modules that are used together, with values for their params. */
export interface ModuleUse {
  modules: readonly string[];
  params?: ParamValues | undefined;
}

/** Refuses modules that can't be used together with these values; the codes are those of {@link Modules.requireCompatible}. */
export function requireUsable(contents: readonly ParsedModule[], values: ParamValues): void {
  const declared = new Map(contents.map(({ name, params }) => [name, params]));
  const faults = [...findValueFaults(declared, values), ...findMissing(declared, values)];
  if (faults.length > 0) throw new OrchestratorError("VALIDATION_FAILED", { issues: faults });
  const known = contents.flatMap((content) =>
    resolveKnown(content, valuesFor(content.name, content.params, values)),
  );
  requirePossibleAgreement(known);
}
