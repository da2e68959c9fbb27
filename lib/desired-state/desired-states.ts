import type { AgentService } from "../agents/agent-service.ts";
import type { AssignmentMatcher, AssignmentService } from "../assignments/assignment-service.ts";
import { isOrchestratorError, OrchestratorError } from "../errors.ts";
import { BoundedCache } from "../internal/bounded-cache.ts";
import { KeptReads } from "../internal/shared-answers.ts";
import { WorkBudget, type SlicedWork, type Work } from "../internal/work.ts";
import type { JsonObject } from "../json.ts";
import { findSkipped } from "../module-format/conditions.ts";
import type { ModuleReference, NamedModules } from "../module-format/module-reference.ts";
import {
  evaluateModule,
  requireAgreement,
  resolveResources,
  type ModuleEvaluation,
} from "../module-format/module-resources.ts";
import { valuesFor } from "../module-format/params.ts";
import { findSecretNames } from "../module-format/secret-parts.ts";
import type { TemplateScope } from "../module-format/template.ts";
import type { ModuleRevision } from "../modules/module-revisions.ts";
import type { ModuleService } from "../modules/module-service.ts";
import type { SecretService } from "../secrets/secret-service.ts";
import { matchesSelector } from "../selectors/match.ts";
import { SelectorCache } from "../selectors/selector-cache.ts";
import type { SelectorTarget } from "../selectors/selector.ts";
import type { ResourceTypes } from "../state/resource-type.ts";
import type { ResolvedResource } from "../state/resource.ts";
import { besidesOf, readable } from "./besides.ts";
import type { DesiredRequest } from "./desired-request.ts";
import { orderModules, requiredModules } from "./module-order.ts";
import { type Calls, ParamSources } from "./param-sources.ts";
import { type Assignment, bringingTo, chooseRevisions } from "./revision-sources.ts";
import { type SkipReasons, skipReasonsOf } from "./skip-reasons.ts";

export type { DesiredRequest } from "./desired-request.ts";

/** What one agent's machine is to be, as far as it was asked for. */
export interface DesiredState {
  modules: { name: string; revision: number }[];
  resources: readonly ResolvedResource[];
  /** Why resources are skipped. */
  skipReasons?: SkipReasons;
  /** The assignments that bring the agent modules, by these, whether or not they were asked for. */
  assignments: ReadonlyMap<string, readonly string[]>;
  /** Names of the assignments that match the agent. */
  matching: readonly string[];
  /** The values that the call gave each of its modules. */
  callValues: ReadonlyMap<string, JsonObject>;
}

/** Works out what one machine after another is to be. */
export interface DesiredReader {
  /** @throws {OrchestratorError} As `DesiredStates.of`. */
  of(nodeId: string, request?: DesiredRequest): Promise<DesiredState>;
}

/** How many resolved sets are kept in memory: agents with the same modules, conditions and values share one. */
const keptInMemory = 100;

/** How many of single modules: each agent has up to some hundred. */
const besidesInMemory = 5_000;

/** Longest description of a set that is kept, characters. A longer one, with texts of its own, is hardly shared. */
const longestKey = 65_536;

/** Works out what a machine is to be: the modules of every assignment that matches its agent, and those that calls named for it. */
export class DesiredStates {
  readonly #agents: AgentService;
  readonly #assignments: AssignmentService;
  readonly #modules: ModuleService;
  readonly #secrets: SecretService;
  readonly #types: ResourceTypes;
  readonly #work: SlicedWork;
  readonly #selectors = new SelectorCache();
  /** Lists that do not contradict each other. */
  readonly #agreeing = new WeakMap<readonly ResolvedResource[], WeakSet<readonly ResolvedResource[]>>();
  /** The same of single modules that nobody asks for, which what is asked for is held against. */
  readonly #besides = new BoundedCache<readonly ResolvedResource[]>({ entries: besidesInMemory });
  readonly #resolved = new BoundedCache<readonly ResolvedResource[]>({ entries: keptInMemory });

  constructor(features: {
    agents: AgentService;
    assignments: AssignmentService;
    modules: ModuleService;
    secrets: SecretService;
    types: ResourceTypes;
    work: SlicedWork;
  }) {
    this.#types = features.types;
    this.#work = features.work;
    this.#agents = features.agents;
    this.#assignments = features.assignments;
    this.#modules = features.modules;
    this.#secrets = features.secrets;
  }

  /**
   * @throws {OrchestratorError} `NOT_FOUND` for an unknown module or revision; `UNKNOWN_RESOURCE_TYPE` for one of a type that the orchestrator does
   * not know any more; `AGENT_UNSUPPORTED` where a module does not support the
   * agent; `SECRET_UNAVAILABLE` where one uses a secret that the agent can't; `MODULE_MISSING` where one requires another that is neither asked for nor applied; `VALIDATION_FAILED` for params of the call that no module declares or that are not as declared; `PARAMS_INVALID`
   * where those of an assignment are so, or one is missing; `TEMPLATE_FAILED`; `RESOURCE_CONFLICT` where two modules
   * contradict each other, or two assignments give one param different values or bring different revisions.
   */
  of(nodeId: string, request: DesiredRequest = {}): Promise<DesiredState> {
    return this.reader().of(nodeId, request);
  }

  /** For many agents at once: what they have in common is read once, at the first of them, and stays as it is then. */
  reader(): DesiredReader {
    const modules = new KeptReads<ModuleRevision>();
    const moduleIn = ({ name, revision }: ModuleReference): Promise<ModuleRevision> =>
      modules.get(`${name}@${revision ?? ""}`, () => this.#modules.resolve(name, revision));
    const secrets = this.#secrets.reader();
    const matchers = new KeptReads<AssignmentMatcher>();
    return {
      of: async (nodeId, request = {}) => {
        const target = await this.#agents.target(nodeId);
        const matching = (await matchers.get("all", () => this.#assignments.matcher()))(target);
        const assignments = bringingTo(matching, request);
        const wanted = chooseRevisions(assignments, request);
        const assigned = new Set(assignments.flatMap((each) => each.modules));
        const isOptional = ({ name }: ModuleReference): boolean => !request.modules && !assigned.has(name);
        const read = wanted.map((each) =>
          isOptional(each) ? this.#ifThere(each, moduleIn) : moduleIn(each),
        );
        const found = (await Promise.all(read)).filter((each) => each !== null);
        const used = orderModules(found, { ...request, assigned });
        const besides = await Promise.all(besidesOf(wanted, assignments, request).map(readable(moduleIn)));
        const names = [...used, ...besides.flat()].flatMap(({ content }) => [...findSecretNames(content)]);
        const uses = await secrets.usesOf(new Set(names), target);
        const evaluation = { ...request, matching, assignments, besides: besides.flat(), secrets: uses };
        return this.#work.do(this.#of(target, used, evaluation));
      },
    };
  }

  /** Of what was only named by a call: null where the module was removed since, which nobody wants then. */
  async #ifThere(
    reference: ModuleReference,
    read: (reference: ModuleReference) => Promise<ModuleRevision>,
  ): Promise<ModuleRevision | null> {
    try {
      return await read(reference);
    } catch (error) {
      if (!isOrchestratorError(error, "NOT_FOUND") || (await this.#modules.exists(reference.name)))
        throw error;
      return null;
    }
  }

  *#of(
    target: SelectorTarget,
    modules: readonly ModuleRevision[],
    { matching, assignments, besides, secrets, params = {}, named = {} }: Evaluation,
  ): Work<DesiredState> {
    const budget = new WorkBudget();
    const calls = { call: params, named };
    const evaluations = yield* this.#evaluate(target, modules, { assignments, secrets, calls, budget });
    const resources = yield* this.#resolve(modules, evaluations, { budget, cache: this.#resolved });
    for (const module of besides) {
      const theirs = yield* this.#resourcesOf(module, target, { assignments, secrets, named });
      if (theirs) this.#requireAgreement(resources, theirs);
    }
    return {
      modules: modules.map(({ name, revision }) => ({ name, revision })),
      resources,
      skipReasons: skipReasonsOf(modules, evaluations),
      // What the assignment of a rollout brings by now is wanted, too.
      assignments: bringersOf([...assignments, ...matching]),
      matching: matching.map(({ name }) => name),
      callValues: new Map(
        modules.map(({ name, content }) => [name, valuesFor(name, content.params, params)]),
      ),
    };
  }

  *#evaluate(
    target: SelectorTarget,
    modules: readonly ModuleRevision[],
    {
      assignments,
      secrets,
      calls,
      budget,
    }: Pick<Evaluation, "assignments" | "secrets"> & {
      calls: Calls;
      budget: WorkBudget;
    },
  ): Work<ModuleEvaluation[]> {
    for (const module of modules) this.#requireSupport(module, target);
    const sources = yield* ParamSources.of(modules, assignments, calls);
    const evaluations: ModuleEvaluation[] = [];
    for (const { content } of modules) {
      const given = sources.valuesFor(content);
      const skipped = yield* findSkipped(content, { target, given }, budget);
      const scope = { ...scopeOf(target, given), secrets };
      evaluations.push(yield* evaluateModule(content, { scope, budget }, skipped));
    }
    return evaluations;
  }

  /** What a module makes that nobody asks for now; null where it makes nothing: that is told when it is asked for. */
  *#resourcesOf(
    module: ModuleRevision,
    target: SelectorTarget,
    { assignments, secrets, named }: Pick<Evaluation, "assignments" | "secrets"> & { named: NamedModules },
  ): Work<readonly ResolvedResource[] | null> {
    try {
      const budget = new WorkBudget();
      const calls = { call: {}, named };
      const evaluations = yield* this.#evaluate(target, [module], { assignments, secrets, calls, budget });
      return yield* this.#resolve([module], evaluations, { budget, cache: this.#besides });
    } catch (error) {
      if (isOrchestratorError(error)) return null;
      throw error;
    }
  }

  /** Refuses what contradicts what else is desired of the agent. Both lists are shared by agents: what agrees once does so for all. */
  #requireAgreement(own: readonly ResolvedResource[], others: readonly ResolvedResource[]): void {
    const agreeing = this.#agreeing.get(own) ?? new WeakSet();
    if (agreeing.has(others)) return;
    const inOrder = [...own, ...others].toSorted(
      ({ module: a }, { module: b }) => Number(a > b) - Number(a < b),
    );
    requireAgreement(inOrder, this.#types);
    this.#agreeing.set(own, agreeing.add(others));
  }

  *#resolve(
    modules: readonly ModuleRevision[],
    evaluations: readonly ModuleEvaluation[],
    { budget, cache }: { budget: WorkBudget; cache: BoundedCache<readonly ResolvedResource[]> },
  ): Work<readonly ResolvedResource[]> {
    const key = JSON.stringify([
      modules.map(({ name, revision, content_hash }) => [name, revision, content_hash]),
      evaluations.map(({ skipped, values }) => [indexesOf(skipped), values]),
    ]);
    const known = cache.get(key);
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
    cache.set(key, resources);
    return resources;
  }

  #requireSupport({ name, content }: ModuleRevision, target: SelectorTarget): void {
    if (content.supports.length === 0) return;
    if (content.supports.some((each) => matchesSelector(this.#selectors.kept(each), target))) return;
    throw new OrchestratorError("AGENT_UNSUPPORTED", {
      message: `Module ${name} supports only agents that match ${content.supports.join(" or ")}.`,
      details: { module: name, supports: content.supports },
    });
  }
}

/** What is worked out, with what surrounds it. */
interface Evaluation extends DesiredRequest {
  matching: readonly Assignment[];
  /** Those that bring it modules. */
  assignments: readonly Assignment[];
  /** What is desired of the agent beside it. */
  besides: readonly ModuleRevision[];
  /** What secrets stand for on the agent. */
  secrets: TemplateScope["secrets"];
}

/** The assignments that bring each module. */
function bringersOf(assignments: readonly Assignment[]): Map<string, string[]> {
  const bringers = new Map<string, string[]>();
  for (const { name, modules } of assignments)
    for (const module of modules) bringers.set(module, [...new Set([...(bringers.get(module) ?? []), name])]);
  return bringers;
}

function scopeOf({ attributes, tags }: SelectorTarget, params: JsonObject): TemplateScope {
  return { params, attributes: { ...attributes }, tags: { ...tags } };
}

function indexesOf(skipped: ModuleEvaluation["skipped"]): number[] {
  return skipped.flatMap((reason, at) => (reason === null ? [] : [at]));
}
