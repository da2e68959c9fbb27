/**
 * Where the values of params come from. The last that has one decides: the module's default, the assignments that bring the
 * module, the call. Within each, `module.param` comes before `param`.
 */
import type { AssignmentDocument } from "../assignments/documents.ts";
import { OrchestratorError } from "../errors.ts";
import { canonicalJson } from "../internal/canonical-json.ts";
import type { Work } from "../internal/work.ts";
import type { Json, JsonObject } from "../json.ts";
import { declaredParams } from "../module-format/module-resources.ts";
import { findMissing, findValueFaults, valuesFor, type DeclaredParams } from "../module-format/params.ts";
import type { ModuleRevision } from "../modules/module-revisions.ts";

type Values = { readonly [key: string]: Json };
type Content = ModuleRevision["content"];

export class ParamSources {
  readonly #assignments: readonly Readonly<AssignmentDocument>[];
  readonly #call: Values;

  private constructor(assignments: readonly Readonly<AssignmentDocument>[], call: Values) {
    this.#assignments = assignments;
    this.#call = call;
  }

  /**
   * @throws {OrchestratorError} `VALIDATION_FAILED` for values of the call that no module declares or that are not as
   * declared; `PARAMS_INVALID` for such values of an assignment.
   */
  static *of(
    modules: readonly ModuleRevision[],
    assignments: readonly Readonly<AssignmentDocument>[],
    call: Values,
  ): Work<ParamSources> {
    const declared = declaredParams(modules.map(({ content }) => content));
    const faults = yield* findValueFaults(declared, call);
    if (faults.length > 0) throw new OrchestratorError("VALIDATION_FAILED", { issues: faults });
    for (const assignment of assignments) yield* requireFit(assignment, declared);
    return new ParamSources(assignments, call);
  }

  /**
   * The values that a module gets beside its defaults.
   *
   * @throws {OrchestratorError} `PARAMS_INVALID` where one is missing; `RESOURCE_CONFLICT` where two assignments differ in
   * one and the call does not decide.
   */
  valuesFor({ name, params }: Content): JsonObject {
    const given: JsonObject = valuesFor(name, params, this.#call);
    const givers = new Map<string, string>();
    for (const assignment of this.#assignments) {
      if (!assignment.modules.includes(name)) continue;
      for (const [param, value] of Object.entries(valuesFor(name, params, assignment.params ?? {}))) {
        const giver = givers.get(param);
        if (giver === undefined && Object.hasOwn(given, param)) continue;
        if (giver !== undefined && canonicalJson(given[param]!) !== canonicalJson(value)) {
          throw new OrchestratorError("RESOURCE_CONFLICT", {
            message: `Assignments ${giver} and ${assignment.name} give param ${param} of module ${name} different values.`,
            details: { module: name, param, assignments: [giver, assignment.name] },
          });
        }
        given[param] = value;
        givers.set(param, giver ?? assignment.name);
      }
    }
    const missing = findMissing(new Map([[name, { params }]]), asOwn(name, given));
    if (missing.length === 0) return given;
    throw new OrchestratorError("PARAMS_INVALID", {
      message: `Param ${String(missing[0]!.path[1])} of module ${name} has no value.`,
      issues: missing,
    });
  }
}

function* requireFit(
  assignment: Readonly<AssignmentDocument>,
  modules: ReadonlyMap<string, DeclaredParams>,
): Work<void> {
  const own = assignment.modules.flatMap((name): [string, DeclaredParams][] => {
    const params = modules.get(name);
    return params ? [[name, params]] : [];
  });
  const [fault, ...others] = yield* findValueFaults(new Map(own), assignment.params ?? {});
  if (!fault) return;
  throw new OrchestratorError("PARAMS_INVALID", {
    message: `In assignment ${assignment.name}, param ${String(fault.path[1])}: ${fault.message}`,
    details: { assignment: assignment.name },
    issues: [fault, ...others],
  });
}

function asOwn(module: string, values: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [`${module}.${name}`, value]));
}
