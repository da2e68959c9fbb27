/**
 * What an operation of one agent is about, and what it makes of that:
 *
 * ```
 *   of a call that names none       everything that is desired of the agent; what it has beside that goes
 *   of a call that names modules    these; those that it names for removal go
 *   of an assignment                its modules; what it brought before and nobody wants any more goes
 * ```
 * What other modules brought stays as it was applied.
 */
import type { Context } from "../context.ts";
import type {
  DesiredReader,
  DesiredRequest,
  DesiredState,
  DesiredStates,
} from "../desired-state/desired-states.ts";
import { type ErrorCode, isOrchestratorError, OrchestratorError } from "../errors.ts";
import type { Json } from "../json.ts";
import { namedOf, parseReference } from "../module-format/module-reference.ts";
import type { ModuleService } from "../modules/module-service.ts";
import type { StoredDocument } from "../storage/storage.ts";
import { readAgentState } from "./agent-states.ts";
import { droppedBy, groundsOf, modulesOf, presentModules } from "./applied-modules.ts";
import type { AgentStateDocument, OperationDocument } from "./documents.ts";
import { isOpen } from "./operation-store.ts";
import { newestOf } from "./repeated-baseline.ts";

/** What is to be done, as an operation keeps it. */
export interface Scoped {
  desired: DesiredState;
  scope?: string[];
  sources: NonNullable<OperationDocument["sources"]>;
  named?: OperationDocument["named"];
  grounds: NonNullable<OperationDocument["grounds"]>;
}

/** What a call for one agent says. */
export interface ScopedCall {
  modules?: readonly string[] | undefined;
  remove_modules?: readonly string[] | undefined;
  params?: { readonly [key: string]: Json } | undefined;
}

type State = Readonly<AgentStateDocument> | null;

/** An agent, what is known of it, and the applies that have not ended where a call removes something. */
interface Agent {
  nodeId: string;
  state: State;
  open: readonly StoredDocument<OperationDocument>[];
}

/** What an assignment brings in one rollout. */
interface Brought {
  assignment: string;
  modules: readonly { name: string; revision: number }[];
  given?: DesiredRequest["given"];
}

export class Scopes {
  readonly #context: Context;
  readonly #desired: DesiredStates;
  readonly #modules: ModuleService;

  constructor(context: Context, parts: { desired: DesiredStates; modules: ModuleService }) {
    this.#context = context;
    this.#desired = parts.desired;
    this.#modules = parts.modules;
  }

  /**
   * What a call is about.
   *
   * @throws {OrchestratorError} What `DesiredStates.of` throws; `NOT_FOUND` for the removal of a module that the agent does not have;
   * `IN_USE` for that of one which an assignment brings, or which another requires, be it one that an open apply brings.
   */
  async ofCall(nodeId: string, call: ScopedCall): Promise<Scoped> {
    // Before what is known of the agent is read: one that ends in between is met there.
    const open = (call.remove_modules?.length ?? 0) > 0 ? await this.#openOf(nodeId) : [];
    const agent = { nodeId, state: await this.#stateOf(nodeId), open };
    const isScoped = (call.modules?.length ?? 0) + (call.remove_modules?.length ?? 0) > 0;
    return isScoped ? this.#named(agent, call) : this.#everything(agent, call);
  }

  /**
   * What a rollout is about on one agent.
   *
   * @param reader - What reads for all agents of the rollout. Default one for this agent.
   *
   * @throws {OrchestratorError} What `DesiredStates.of` throws; `IN_USE` where a module would go that another requires.
   */
  async ofAssignment(
    nodeId: string,
    { assignment, modules, given }: Brought,
    reader: DesiredReader = this.#desired.reader(),
  ): Promise<Scoped> {
    const state = await this.#stateOf(nodeId);
    const wanted = modules.map(({ name }) => name);
    const desired = await reader.of(nodeId, { modules, assignment, given, ...besides(state) });
    const isWanted = (name: string): boolean => desired.assignments.has(name);
    const removed = droppedBy(assignment, { state, wanted, isWanted });
    await this.#requireUnused(removed, { state }, desired);
    const scope = [...wanted, ...removed];
    const grounds = groundsOf(state, { about: wanted, removed });
    return { desired, scope, sources: sourcesOf(desired), grounds };
  }

  /** All that is desired of an agent now. */
  async everything(nodeId: string): Promise<DesiredState> {
    return (await this.ofCall(nodeId, {})).desired;
  }

  async #everything({ nodeId, state }: Agent, { params }: ScopedCall): Promise<Scoped> {
    const desired = await this.#desired.of(nodeId, { params, named: state?.named });
    const brought = new Set(desired.modules.map(({ name }) => name));
    const removed = [...modulesOf(state).keys()].filter((name) => !brought.has(name));
    return { desired, sources: sourcesOf(desired), grounds: groundsOf(state, { removed }) };
  }

  async #named({ nodeId, state, open }: Agent, call: ScopedCall): Promise<Scoped> {
    const { modules: texts = [], remove_modules: unwanted = [], params } = call;
    const modules = [...new Set(texts)].map(parseReference);
    requireApart(modules, unwanted);
    const leaving = new Set(unwanted);
    const around = besides(state);
    const applied = new Set([...around.applied].filter((name) => !leaving.has(name)));
    // Values that a call gives take the place of those that an earlier one gave.
    const named = params ? {} : around.named;
    const desired = await this.#desired.of(nodeId, { modules, params, named, applied, removed: unwanted });
    requireRemovable(unwanted, state, desired);
    // What an assignment brings, too, is named no longer, and stays for that.
    const removed = unwanted.filter((name) => !desired.assignments.has(name));
    await this.#requireUnused(removed, { state, open }, desired);
    const ahead = open.filter(({ value }) => value.modules.some(({ name }) => unwanted.includes(name)));
    const names = modules.map(({ name }) => name);
    const naming = modules.map(({ name, revision }) => {
      const given = desired.callValues.get(name) ?? {};
      const values = params ? given : namedOf(state?.named, name)?.params;
      const hasValues = values !== undefined && Object.keys(values).length > 0;
      return [
        name,
        { ...(revision !== undefined && { revision }), ...(hasValues && { params: values }) },
      ] as const;
    });
    return {
      desired,
      scope: [...new Set([...names, ...removed])],
      sources: sourcesOf(desired),
      named: Object.fromEntries(naming),
      grounds: {
        ...groundsOf(state, { about: params ? [] : names, only_params: true, removed }),
        ...(ahead.length > 0 && { ahead: ahead.map(({ key }) => key) }),
      },
    };
  }

  /** Refuses to take away what another module of the agent requires, or one that an open apply brings. */
  async #requireUnused(
    removed: readonly string[],
    { state, open = [] }: Pick<Agent, "state"> & Partial<Agent>,
    desired: DesiredState,
  ): Promise<void> {
    if (removed.length === 0) return;
    const staying = new Map(
      [...modulesOf(state)].flatMap(([name, { revision, leaving }]) =>
        leaving || removed.includes(name) ? [] : [[name, revision] as const],
      ),
    );
    for (const { name, revision } of desired.modules) staying.set(name, revision);
    for (const [name, revision] of [...staying, ...comingWith(open)]) {
      if (removed.includes(name)) continue;
      const required = (await this.#requiredBy(name, revision)).find((each) => removed.includes(each));
      if (required === undefined) continue;
      throw new OrchestratorError("IN_USE", {
        message: `Module ${name} of this agent requires module ${required}. Nothing was removed.`,
        details: { module: required, used_by: [name] },
      });
    }
  }

  /** Nothing of a module that is gone, or can't be read any more. */
  async #requiredBy(name: string, revision: number): Promise<readonly string[]> {
    try {
      return (await this.#modules.resolve(name, revision)).content.requires;
    } catch (error) {
      if (isOrchestratorError(error) && unreadable.includes(error.code)) return [];
      throw error;
    }
  }

  /** Applies of an agent that may still bring what they are to. */
  async #openOf(nodeId: string): Promise<Agent["open"]> {
    const applies = await newestOf(this.#context.storage, nodeId, "apply");
    return applies.filter(({ value }) => isOpen(value) || value.status === "unknown");
  }

  async #stateOf(nodeId: string): Promise<State> {
    return (await readAgentState(this.#context.storage, nodeId))?.value ?? null;
  }
}

/** What open applies bring, and none of those behind takes away again. */
function comingWith(applies: Agent["open"]): Map<string, number> {
  const coming = new Map<string, number>();
  for (const { value } of applies.filter((each) => isOpen(each.value)).toReversed()) {
    for (const name of Object.keys(value.grounds?.removed ?? {})) coming.delete(name);
    for (const { name, revision } of value.modules) coming.set(name, revision);
  }
  return coming;
}

const unreadable: readonly ErrorCode[] = ["NOT_FOUND", "MODULE_INVALID", "UNKNOWN_RESOURCE_TYPE"];

/** What an assignment wants comes back with its next apply: it is taken away there. */
function requireRemovable(unwanted: readonly string[], state: State, desired: DesiredState): void {
  const known = modulesOf(state);
  for (const [at, name] of unwanted.entries()) {
    const isNamed = namedOf(state?.named, name) !== undefined;
    if (!known.has(name) && !isNamed) {
      throw new OrchestratorError("NOT_FOUND", {
        message: `Module ${name} was never applied on this agent. Nothing was removed.`,
        details: { module: name },
        issues: [{ path: ["remove_modules", at], message: "was never applied on this agent" }],
      });
    }
    const [assignment] = desired.assignments.get(name) ?? [];
    if (assignment === undefined || isNamed) continue;
    throw new OrchestratorError("IN_USE", {
      message: `Assignment ${assignment} brings module ${name} to this agent. Nothing was removed.`,
      details: { module: name, used_by: [assignment] },
    });
  }
}

function besides(state: State): { named: DesiredRequest["named"]; applied: ReadonlySet<string> } {
  return { named: state?.named, applied: presentModules(state) };
}

function sourcesOf({ modules, assignments }: DesiredState): Scoped["sources"] {
  return Object.fromEntries(
    modules.flatMap(({ name }) => {
      const bringers = assignments.get(name);
      return bringers ? [[name, bringers]] : [];
    }),
  );
}

function requireApart(modules: readonly { name: string }[], removed: readonly string[]): void {
  const at = removed.findIndex((name) => modules.some((module) => module.name === name));
  if (at < 0) return;
  const issues = [{ path: ["remove_modules", at], message: "can't be among modules as well" }];
  throw new OrchestratorError("VALIDATION_FAILED", { issues });
}
