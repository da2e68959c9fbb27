import type { AgentService } from "../agents/agent-service.ts";
import type { AssignmentMatcher, AssignmentService } from "../assignments/assignment-service.ts";
import type { AssignmentDocument } from "../assignments/documents.ts";
import { OrchestratorError } from "../errors.ts";
import { BoundedCache } from "../internal/bounded-cache.ts";
import { WorkBudget, type SlicedWork, type Work } from "../internal/work.ts";
import type { Json, JsonObject } from "../json.ts";
import { findSkipped } from "../module-format/conditions.ts";
import {
  evaluateModule,
  requireAgreement,
  resolveResources,
  type ModuleEvaluation,
} from "../module-format/module-resources.ts";
import type { TemplateScope } from "../module-format/template.ts";
import type { ModuleRevision } from "../modules/module-revisions.ts";
import type { ModuleService } from "../modules/module-service.ts";
import { matchesSelector } from "../selectors/match.ts";
import { SelectorCache } from "../selectors/selector-cache.ts";
import type { SelectorTarget } from "../selectors/selector.ts";
import type { ResourceTypes } from "../state/resource-type.ts";
import type { ResolvedResource } from "../state/resource.ts";
import { orderModules, requiredModules } from "./module-order.ts";
import { ParamSources } from "./param-sources.ts";
import { type SkipReasons, skipReasonsOf } from "./skip-reasons.ts";

/** What one agent's machine is to be. */
export interface DesiredState {
  modules: { name: string; revision: number }[];
  resources: readonly ResolvedResource[];
  /** Why resources are skipped. */
  skipReasons?: SkipReasons;
}

/** What a call adds to what assignments bring. */
export interface DesiredExtras {
  /** Modules beside those of assignments. */
  modules?: readonly string[] | undefined;
  /** Values of params that come before those of assignments. */
  params?: { readonly [key: string]: Json } | undefined;
}

/** Works out what one machine after another is to be. */
export interface DesiredReader {
  /** @throws {OrchestratorError} As `DesiredStates.of`. */
  of(nodeId: string, extras?: DesiredExtras): Promise<DesiredState>;
}

/** How many resolved sets are kept in memory: agents with the same modules, conditions and values share one. */
const keptInMemory = 100;

/** Longest description of a set that is kept, characters. A longer one, with texts of its own, is hardly shared. */
const longestKey = 65_536;

/**
 * Works out what a machine is to be: the modules of every assignment that matches its agent, and those that a call names.
 */
export class DesiredStates {
  readonly #agents: AgentService;
  readonly #assignments: AssignmentService;
  readonly #modules: ModuleService;
  readonly #types: ResourceTypes;
  readonly #work: SlicedWork;
  readonly #selectors = new SelectorCache();
  readonly #resolved = new BoundedCache<readonly ResolvedResource[]>({ entries: keptInMemory });

  constructor(features: {
    agents: AgentService;
    assignments: AssignmentService;
    modules: ModuleService;
    types: ResourceTypes;
    work: SlicedWork;
  }) {
    this.#types = features.types;
    this.#work = features.work;
    this.#agents = features.agents;
    this.#assignments = features.assignments;
    this.#modules = features.modules;
  }

  /**
   * @throws {OrchestratorError} `NOT_FOUND` for an unknown module; `UNKNOWN_RESOURCE_TYPE` for one of a type that the orchestrator does
   * not know any more; `AGENT_UNSUPPORTED` where a module does not support the
   * agent; `MODULE_MISSING` where one requires another that nothing brings to the agent; `VALIDATION_FAILED` for params of the call that no module declares or that are not as declared; `PARAMS_INVALID`
   * where those of an assignment are so, or one is missing; `TEMPLATE_FAILED`; `RESOURCE_CONFLICT` where two modules
   * contradict each other, or two assignments give one param different values.
   */
  of(nodeId: string, extras: DesiredExtras = {}): Promise<DesiredState> {
    return this.reader().of(nodeId, extras);
  }

  /** For many agents at once: what they have in common is read once, at the first of them, and stays as it is then. */
  reader(revisions: ReadonlyMap<string, number> = new Map()): DesiredReader {
    const modules = new Map<string, Promise<ModuleRevision>>();
    const moduleNamed = (name: string): Promise<ModuleRevision> => {
      const known = modules.get(name);
      if (known) return known;
      const read = this.#modules.resolve(name, revisions.get(name));
      modules.set(name, read);
      read.catch(() => modules.delete(name));
      return read;
    };
    let matching: Promise<AssignmentMatcher> | null = null;
    return {
      of: async (nodeId, extras = {}) => {
        const target = await this.#agents.target(nodeId);
        const assignments = (await (matching ??= this.#assignments.matcher()))(target);
        const names = new Set([...assignments.flatMap((each) => each.modules), ...(extras.modules ?? [])]);
        const used = orderModules(await Promise.all([...names].map(moduleNamed)));
        return this.#work.do(this.#of(target, used, { assignments, call: extras.params ?? {} }));
      },
    };
  }

  *#of(
    target: SelectorTarget,
    modules: readonly ModuleRevision[],
    { assignments, call }: { assignments: readonly Readonly<AssignmentDocument>[]; call: JsonObject },
  ): Work<DesiredState> {
    for (const module of modules) this.#requireSupport(module, target);
    const sources = yield* ParamSources.of(modules, assignments, call);
    const budget = new WorkBudget();
    const evaluations: ModuleEvaluation[] = [];
    for (const { content } of modules) {
      const given = sources.valuesFor(content);
      const skipped = yield* findSkipped(content, { target, given }, budget);
      const scope = scopeOf(target, given);
      evaluations.push(yield* evaluateModule(content, { scope, budget }, skipped));
    }
    return {
      modules: modules.map(({ name, revision }) => ({ name, revision })),
      resources: yield* this.#resolve(modules, evaluations, budget),
      skipReasons: skipReasonsOf(modules, evaluations),
    };
  }

  *#resolve(
    modules: readonly ModuleRevision[],
    evaluations: readonly ModuleEvaluation[],
    budget: WorkBudget,
  ): Work<readonly ResolvedResource[]> {
    const key = JSON.stringify([
      modules.map(({ name, revision, content_hash }) => [name, revision, content_hash]),
      evaluations.map(({ skipped, values }) => [indexesOf(skipped), values]),
    ]);
    const known = this.#resolved.get(key);
    if (known) return known;
    const types = this.#types;
    const resources: ResolvedResource[] = [];
    const required = requiredModules(modules);
    for (const [at, { content }] of modules.entries()) {
      const requires_modules = required.get(content.name) ?? [];
      for (const each of yield* resolveResources(content, evaluations[at]!, { types, budget }))
        resources.push(requires_modules.length > 0 ? { ...each, requires_modules } : each);
    }
    requireAgreement(resources, types);
    if (key.length > longestKey) return resources;
    this.#resolved.set(key, resources);
    return resources;
  }

  #requireSupport({ name, content }: ModuleRevision, target: SelectorTarget): void {
    if (content.supports.length === 0) return;
    if (content.supports.some((each) => matchesSelector(this.#selectors.parse(each), target))) return;
    throw new OrchestratorError("AGENT_UNSUPPORTED", {
      message: `Module ${name} supports only agents that match ${content.supports.join(" or ")}.`,
      details: { module: name, supports: content.supports },
    });
  }
}

function scopeOf({ attributes, tags }: SelectorTarget, params: JsonObject): TemplateScope {
  return { params, attributes: { ...attributes }, tags: { ...tags } };
}

function indexesOf(skipped: ModuleEvaluation["skipped"]): number[] {
  return skipped.flatMap((reason, at) => (reason === null ? [] : [at]));
}
