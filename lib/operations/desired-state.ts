import type { Agents } from "../agents/agents.ts";
import type { AssignmentMatcher, Assignments } from "../assignments/assignments.ts";
import { OrchestratorError } from "../errors.ts";
import { requireAgreement, resolveResources } from "../modules/module-resources.ts";
import type { ModuleRevision, Modules } from "../modules/modules.ts";
import { SelectorCache } from "../selectors/selector-cache.ts";
import { matchesSelector } from "../selectors/match.ts";
import type { SelectorTarget } from "../selectors/selector.ts";
import type { ResolvedResource } from "../state/resource.ts";

/** What one agent's machine is to be. */
export interface DesiredState {
  modules: { name: string; revision: number }[];
  resources: readonly ResolvedResource[];
}

/** Works out what one machine after another is to be. */
export interface DesiredReader {
  /**
   * @param extraModules - Modules beside those that assignments bring.
   * @throws {OrchestratorError} As {@link DesiredStates.of}.
   */
  of(nodeId: string, extraModules?: readonly string[]): Promise<DesiredState>;
}

/** How many resolved sets are kept in memory: agents with the same modules and conditions share one. */
const keptInMemory = 100;

/**
 * Works out what a machine is to be: the modules of every assignment that matches its agent, and those that a call names.
 */
export class DesiredStates {
  readonly #agents: Agents;
  readonly #assignments: Assignments;
  readonly #modules: Modules;
  readonly #selectors = new SelectorCache();
  readonly #resolved = new Map<string, readonly ResolvedResource[]>();

  constructor(features: { agents: Agents; assignments: Assignments; modules: Modules }) {
    this.#agents = features.agents;
    this.#assignments = features.assignments;
    this.#modules = features.modules;
  }

  /**
   * @throws {OrchestratorError} `NOT_FOUND` for an unknown module; `AGENT_UNSUPPORTED` where a module does not support the
   * agent; `RESOURCE_CONFLICT` where two modules contradict each other.
   */
  of(nodeId: string, extraModules: readonly string[] = []): Promise<DesiredState> {
    return this.reader().of(nodeId, extraModules);
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
      of: async (nodeId, extraModules = []) => {
        const target = await this.#agents.target(nodeId);
        const assignments = (await (matching ??= this.#assignments.matcher()))(target);
        const names = new Set([...assignments.flatMap((each) => each.modules), ...extraModules]);
        return this.#of(target, await Promise.all([...names].map(moduleNamed)));
      },
    };
  }

  #of(target: SelectorTarget, modules: readonly ModuleRevision[]): DesiredState {
    for (const module of modules) this.#requireSupport(module, target);
    return {
      modules: modules.map(({ name, revision }) => ({ name, revision })),
      resources: this.#resolve(modules, target),
    };
  }

  #resolve(modules: readonly ModuleRevision[], target: SelectorTarget): readonly ResolvedResource[] {
    const skipped = modules.map(({ content }) =>
      content.resources.map((resource) => {
        const when = resource["when"];
        return typeof when === "string" && !matchesSelector(this.#selectors.parse(when), target);
      }),
    );
    const key = JSON.stringify([
      modules.map(({ name, revision, content_hash }) => [name, revision, content_hash]),
      skipped.map(indexesOf),
    ]);
    const known = this.#resolved.get(key);
    if (known) return known;
    const resources = modules.flatMap(({ name, content }, at) =>
      resolveResources(name, content, skipped[at]),
    );
    requireAgreement(resources);
    if (this.#resolved.size >= keptInMemory) this.#resolved.clear();
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

function indexesOf(flags: readonly boolean[]): number[] {
  return flags.flatMap((flag, at) => (flag ? [at] : []));
}
