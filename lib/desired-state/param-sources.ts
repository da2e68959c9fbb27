/**
 * Where the values of params come from. The last that has one decides: the module's default, the assignments that bring the
 * module, what an earlier call named it with, the call. Within each, `module.param` comes before `param`.
 */
import { OrchestratorError } from "../errors.ts";
import { canonicalJson } from "../internal/canonical-json.ts";
import type { Work } from "../internal/work.ts";
import type { Json, JsonObject } from "../json.ts";
import { namedOf, type NamedModules } from "../module-format/module-reference.ts";
import { declaredParams } from "../module-format/module-resources.ts";
import { findMissing, findValueFaults, valuesFor, type DeclaredParams } from "../module-format/params.ts";
import type { ModuleRevision } from "../modules/module-revisions.ts";
import type { Assignment } from "./revision-sources.ts";

type Values = { readonly [key: string]: Json };
type Content = ModuleRevision["content"];

/** What calls give. */
export interface Calls {
  call: Values;
  named: NamedModules;
}

export class ParamSources {
  readonly #assignments: readonly Assignment[];
  readonly #calls: Calls;

  private constructor(assignments: readonly Assignment[], calls: Calls) {
    this.#assignments = assignments;
    this.#calls = calls;
  }

  /**
   * @throws {OrchestratorError} `VALIDATION_FAILED` for values of the call that no module declares or that are not as
   * declared; `PARAMS_INVALID` for such values of an assignment, or of what a call named.
   */
  static *of(
    modules: readonly ModuleRevision[],
    assignments: readonly Assignment[],
    calls: Calls,
  ): Work<ParamSources> {
    const declared = declaredParams(modules.map(({ content }) => content));
    const faults = yield* findValueFaults(declared, calls.call);
    if (faults.length > 0) throw new OrchestratorError("VALIDATION_FAILED", { issues: faults });
    for (const assignment of assignments) {
      const details = { assignment: assignment.name };
      yield* requireFit({ ...assignment, label: `assignment ${assignment.name}`, details }, declared);
    }
    for (const { name } of modules) {
      const { params } = namedOf(calls.named, name) ?? {};
      const label = "what a call named for this agent";
      if (params) yield* requireFit({ modules: [name], params, label, details: { module: name } }, declared);
    }
    return new ParamSources(assignments, calls);
  }

  /**
   * The values that a module gets beside its defaults.
   *
   * @throws {OrchestratorError} `PARAMS_INVALID` where one is missing; `RESOURCE_CONFLICT` where two assignments differ in
   * one and the call does not decide.
   */
  valuesFor({ name, params }: Content): JsonObject {
    const { call, named } = this.#calls;
    const given: JsonObject = {
      ...valuesFor(name, params, namedOf(named, name)?.params ?? {}),
      ...valuesFor(name, params, call),
    };
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

/** Where values were given, for people. */
interface Giver {
  modules: readonly string[];
  params?: Values | undefined;
  label: string;
  details: JsonObject;
}

function* requireFit(giver: Giver, modules: ReadonlyMap<string, DeclaredParams>): Work<void> {
  const own = giver.modules.flatMap((name): [string, DeclaredParams][] => {
    const params = modules.get(name);
    return params ? [[name, params]] : [];
  });
  const [fault, ...others] = yield* findValueFaults(new Map(own), valuesOf(giver, new Map(own)));
  if (!fault) return;
  throw new OrchestratorError("PARAMS_INVALID", {
    message: `In ${giver.label}, param ${String(fault.path[1])}: ${fault.message}`,
    details: giver.details,
    issues: [fault, ...others],
  });
}

/** What is given to the modules that are asked for: of the values for others nothing is known here. */
function valuesOf({ modules, params = {} }: Giver, asked: ReadonlyMap<string, DeclaredParams>): Values {
  if (modules.every((name) => asked.has(name))) return params;
  const own = [...asked].map(([name, declared]) => asOwn(name, valuesFor(name, declared.params, params)));
  return Object.assign({}, ...own) as Values;
}

function asOwn(module: string, values: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [`${module}.${name}`, value]));
}
