import type { Agents } from "../agents/agents.ts";
import type { AssignmentDocument } from "../assignments/documents.ts";
import type { Assignments } from "../assignments/assignments.ts";
import { OrchestratorError } from "../errors.ts";
import type { Json, JsonObject } from "../internal/json.ts";
import {
  evaluateModule,
  requireAgreement,
  resolveResources,
  type ModuleEvaluation,
} from "../modules/module-resources.ts";
import type { ModuleRevision, Modules } from "../modules/modules.ts";
import { matchesSelector } from "../selectors/match.ts";
import { parseSelector } from "../selectors/parse.ts";
import type { SelectorTarget } from "../selectors/selector.ts";
import type { ResolvedResource } from "../state/resource.ts";
import { ParamSources } from "./param-sources.ts";

/** What one agent's machine is to be. */
export interface DesiredState {
  modules: { name: string; revision: number }[];
  resources: readonly ResolvedResource[];
}

/** What a call adds to what assignments bring. */
export interface DesiredExtras {
  /** Modules beside those of assignments. */
  modules?: readonly string[] | undefined;
  /** Values of params that come before those of assignments. */
  params?: { readonly [key: string]: Json } | undefined;
}

/** How many resolved sets are kept in memory: agents with the same modules, conditions and values share one. */
const keptInMemory = 100;

/** Longest description of a set that is kept, characters. A longer one, with texts of its own, is hardly shared. */
const longestKey = 65_536;

/**
 * Works out what a machine is to be: the modules of every assignment that matches its agent, and those that a call names.
 */
export class DesiredStates {
  readonly #agents: Agents;
  readonly #assignments: Assignments;
  readonly #modules: Modules;
  readonly #resolved = new Map<string, readonly ResolvedResource[]>();

  constructor(features: { agents: Agents; assignments: Assignments; modules: Modules }) {
    this.#agents = features.agents;
    this.#assignments = features.assignments;
    this.#modules = features.modules;
  }

  /**
   * @throws {OrchestratorError} `NOT_FOUND` for an unknown module; `AGENT_UNSUPPORTED` where a module does not support the
   * agent; `VALIDATION_FAILED` for params of the call that no module declares or that are not as declared; `PARAMS_INVALID`
   * where those of an assignment are so, or one is missing; `TEMPLATE_FAILED`; `RESOURCE_CONFLICT` where two modules
   * contradict each other, or two assignments give one param different values.
   */
  async of(nodeId: string, extras: DesiredExtras = {}): Promise<DesiredState> {
    const target = await this.#agents.target(nodeId);
    const assignments = await this.#assignments.matching(target);
    const brought = assignments.flatMap((assignment: Readonly<AssignmentDocument>) => assignment.modules);
    const modules = await this.#modules.resolve([...new Set([...brought, ...(extras.modules ?? [])])]);
    for (const module of modules) requireSupport(module, target);
    const sources = new ParamSources(modules, assignments, extras.params ?? {});
    const evaluations = modules.map(({ content }) => {
      const skipped = content.resources.map((resource) => {
        const when = resource["when"];
        return typeof when === "string" && !matchesSelector(parseSelector(when), target);
      });
      return evaluateModule(content, scopeOf(target, sources.valuesFor(content)), skipped);
    });
    return {
      modules: modules.map(({ name, revision }) => ({ name, revision })),
      resources: this.#resolve(modules, evaluations),
    };
  }

  #resolve(
    modules: readonly ModuleRevision[],
    evaluations: readonly ModuleEvaluation[],
  ): readonly ResolvedResource[] {
    const key = JSON.stringify([
      modules.map(({ name, revision, content_hash }) => [name, revision, content_hash]),
      evaluations.map(({ skipped, values }) => [indexesOf(skipped), values]),
    ]);
    const known = this.#resolved.get(key);
    if (known) return known;
    const resources = modules.flatMap(({ content }, at) => resolveResources(content, evaluations[at]!));
    requireAgreement(resources);
    if (key.length > longestKey) return resources;
    if (this.#resolved.size >= keptInMemory) this.#resolved.clear();
    this.#resolved.set(key, resources);
    return resources;
  }
}

function scopeOf(
  { attributes, tags }: SelectorTarget,
  params: JsonObject,
): Parameters<typeof evaluateModule>[1] {
  return { params, attributes: { ...attributes }, tags: { ...tags } };
}

function requireSupport({ name, content }: ModuleRevision, target: SelectorTarget): void {
  if (content.supports.length === 0) return;
  if (content.supports.some((selector) => matchesSelector(parseSelector(selector), target))) return;
  throw new OrchestratorError("AGENT_UNSUPPORTED", {
    message: `Module ${name} supports only agents that match ${content.supports.join(" or ")}.`,
    details: { module: name, supports: content.supports },
  });
}

function indexesOf(flags: readonly boolean[]): number[] {
  return flags.flatMap((flag, at) => (flag ? [at] : []));
}
