/** What is believed of a machine once an apply or a forgetting has ended: what each leaves, whether or not all of it succeeded. */
import type { AgentService } from "../agents/agent-service.ts";
import type { Context } from "../context.ts";
import type { SecretService } from "../secrets/secret-service.ts";
import { edgeProperties } from "../state/graph.ts";
import { resourceKey, type ResolvedResource } from "../state/resource.ts";
import type { ResourceResult } from "../state/result.ts";
import type { StoredDocument, Write } from "../storage/storage.ts";
import { putAgentState, readAgentState } from "./agent-states.ts";
import { type ApplyEnd, isWhole, modulesAfter, modulesOf, revisionsOf } from "./applied-modules.ts";
import type { Baselines } from "./baselines.ts";
import type { AgentStateDocument, OperationDocument } from "./documents.ts";
import { findingsAfter, isSettling, withModules } from "./findings-after.ts";
import type { OperationChange } from "./operation-store.ts";
import type { Ended } from "./outcomes.ts";
import type { Snapshots } from "./snapshots.ts";

type Stored = StoredDocument<AgentStateDocument> | null;
type Baseline = NonNullable<AgentStateDocument["baseline"]>;
type Operation = Readonly<OperationDocument>;

/** Adds what another feature writes when an apply has put right whatever had drifted on a machine. */
export type Settlement = (operation: Operation) => Promise<OperationChange>;

export class StateRecorder {
  readonly #context: Context;
  readonly #agents: AgentService;
  readonly #secrets: SecretService;
  readonly #snapshots: Snapshots;
  readonly #baselines: Baselines;
  #settlement: Settlement = () => Promise.resolve({});

  constructor(
    context: Context,
    parts: { agents: AgentService; secrets: SecretService; snapshots: Snapshots; baselines: Baselines },
  ) {
    this.#context = context;
    this.#agents = parts.agents;
    this.#secrets = parts.secrets;
    this.#snapshots = parts.snapshots;
    this.#baselines = parts.baselines;
  }

  /** Has a feature add to the end of an apply that puts right whatever had drifted. */
  onSettled(settlement: Settlement): void {
    this.#settlement = settlement;
  }

  /** What to write in the step that ends an apply. */
  async afterApply(ended: Ended): Promise<OperationChange> {
    const { operation, results } = ended;
    const there = await this.#agents.expectThere(operation.node_id);
    if (there === null) return { writes: [] };
    const end = endOf(operation, results);
    const changed = end && (await this.#stateAfter(ended, end));
    const known = { state: changed?.state ?? null, end };
    let isSettled = false;
    const findings = await this.#agents.findings.change(operation.node_id, (before) => {
      isSettled = isSettling(before, operation, known);
      return findingsAfter(before, operation, known);
    });
    const { writes = [], events = [] } = isSettled ? await this.#settlement(operation) : {};
    return { writes: [there, ...(changed?.writes ?? []), ...findings, ...writes], events };
  }

  /** What is known of a machine after an apply that may have changed it; null where something newer is known. */
  async #stateAfter(
    { operation, results, isCorrection }: Ended,
    end: ApplyEnd,
  ): Promise<{ state: AgentStateDocument; writes: Write[] } | null> {
    const { node_id } = operation;
    const before = await readAgentState(this.#context.storage, node_id);
    if (isCorrection && isOld(operation, before?.value)) return null;
    const isRepetition =
      end !== "applied" && (await this.#baselines.isRepetition(before?.value.baseline?.snapshot, operation));
    const { modules, named } = modulesAfter(before?.value ?? null, operation, { results, end, isRepetition });
    const { named: _, ...known } = before?.value ?? { node_id };
    const isNewest = (before?.value.last_apply?.begun_at ?? 0) <= (operation.begun_at ?? 0);
    const state: AgentStateDocument = {
      ...known,
      ...(end !== "doubtful" && isNewest && { last_apply: toLastApply(operation, { before, modules }) }),
      ...(end === "applied" && { baseline: await this.#baselineAfter(operation, known.baseline) }),
      modules,
      ...(Object.keys(named).length > 0 && { named }),
    };
    return { state, writes: await this.#writes(before, state) };
  }

  /** What to write in the step that ends a forgetting. */
  async afterForgetting({ operation, results }: Ended): Promise<{ writes: Write[] }> {
    const { node_id, names = [] } = operation;
    const forgotten = new Set(results.filter(({ action }) => action === "forget").map(resourceKey));
    const before = await readAgentState(this.#context.storage, node_id);
    if (forgotten.size === 0 || !before) return { writes: [] };
    const { modules, named, baseline, ...known } = before.value;
    const resources = baseline && (await this.#snapshots.loadIfWhole(baseline.snapshot));
    const left = resources && withoutForgotten(resources, forgotten);
    const [had, has] = [resources, left].map((list) => new Set(list?.map(({ module }) => module)));
    const applied = modulesOf(before.value);
    // Of a module that was never put in place as a whole the baseline does not tell what is left.
    const isOver = (module: string): boolean =>
      names.includes(module) || (isWhole(applied.get(module)) && had!.has(module) && !has!.has(module));
    const stays = <Value>(entries: { [module: string]: Value } = {}): { [module: string]: Value } =>
      Object.fromEntries(Object.entries(entries).filter(([module]) => !isOver(module)));
    const namedStill = stays(named);
    const forgottenOf = (name: string): string[] =>
      results.filter(({ module }) => module === name).map(({ resource_id }) => resource_id);
    const modulesStill = Object.entries(stays(modules)).map(([name, module]) => {
      const ids = [...(module.forgotten ?? []), ...forgottenOf(name)];
      return [name, ids.length > 0 ? { ...module, forgotten: ids } : module] as const;
    });
    const state: AgentStateDocument = {
      ...known,
      ...(baseline && {
        baseline: { ...baseline, snapshot: left ? await this.#snapshots.save(left) : baseline.snapshot },
      }),
      modules: Object.fromEntries(modulesStill),
      ...(Object.keys(namedStill).length > 0 && { named: namedStill }),
    };
    const findings = await this.#agents.findings.change(node_id, (found) => withModules(found, state));
    return { writes: [...(await this.#writes(before, state)), ...findings] };
  }

  async #baselineAfter(operation: Operation, before: Baseline | undefined): Promise<Baseline> {
    const { operation_id, created_at, finished_at: at = created_at } = operation;
    return { operation_id, snapshot: await this.#baselines.after(before?.snapshot, operation), at };
  }

  async #writes(before: Stored, known: AgentStateDocument): Promise<Write[]> {
    const old = before?.value.baseline?.snapshot;
    const state = old === known.baseline?.snapshot ? known : await this.#withSecrets(known);
    const secrets = { before: versionsOf(before?.value.secrets), after: versionsOf(state.secrets) };
    const revisions = { before: revisionsOf(before?.value.modules), after: revisionsOf(state.modules) };
    return [
      putAgentState(state, before),
      ...this.#agents.appliedModules.change(state.node_id, revisions),
      ...this.#agents.appliedSecrets.change(state.node_id, secrets),
      ...(old !== undefined && old !== state.baseline?.snapshot
        ? [this.#context.contents.loosen("snapshot", old)]
        : []),
    ];
  }

  /** What it says of secrets is of its baseline. */
  async #withSecrets(known: AgentStateDocument): Promise<AgentStateDocument> {
    const { secrets: _, ...state } = known;
    const resources = state.baseline && (await this.#snapshots.loadIfWhole(state.baseline.snapshot));
    const versions = this.#secrets.versionsIn(resources ?? []);
    return versions.size === 0 ? state : { ...state, secrets: Object.fromEntries(versions) };
  }
}

function versionsOf(secrets: AgentStateDocument["secrets"] = {}): Map<string, number> {
  return new Map(Object.entries(secrets));
}

function toLastApply(
  operation: Operation,
  { before, modules }: { before: Stored; modules: object },
): NonNullable<AgentStateDocument["last_apply"]> {
  const { operation_id, snapshot, begun_at, scope, created_at, finished_at: at = created_at } = operation;
  // Of an apply of some modules the others are still there.
  const others = scope && Object.keys(modules).length > 0 ? before?.value.last_apply?.resource_count : 0;
  const resource_count = operation.resource_count > 0 ? operation.resource_count : (others ?? 0);
  return { operation_id, snapshot, at, resource_count, ...(begun_at !== undefined && { begun_at }) };
}

/** How an apply ended; null where it changed nothing, or nobody knows yet. */
function endOf(operation: Operation, results: readonly ResourceResult[]): ApplyEnd | null {
  const { status, error, started_at } = operation;
  if (status === "unknown") return null;
  if (status === "succeeded" || operation.results !== undefined)
    return isInPlace(operation, results) ? "applied" : "partial";
  const isSilent = status === "interrupted" || silentCodes.has(error?.code ?? "");
  return isSilent && started_at !== undefined ? "doubtful" : null;
}

/**
 * What an apply ends with that may have changed something, and has no results to tell what. An agent without space changes nothing: it
 * takes no apply on, or ends it before the first change.
 */
const silentCodes: ReadonlySet<string> = new Set(["INTERNAL", "RESULT_GONE", "STORAGE_CORRUPT"]);

/** What turned up late is no news of the machine where another apply about the same has begun since. */
function isOld({ scope, begun_at = 0 }: Operation, state: Readonly<AgentStateDocument> | undefined): boolean {
  if (!scope || !state?.modules) return (state?.last_apply?.begun_at ?? 0) > begun_at;
  const modules = modulesOf(state);
  return scope.some((name) => (modules.get(name)?.begun_at ?? 0) > begun_at);
}

/**
 * Whether all that an apply was asked for is in place. A trigger that failed is owed, and changes nothing of that: drift is told and
 * enforced against what the machine was given, and not against what it had before.
 */
function isInPlace({ status, error }: Operation, results: readonly ResourceResult[]): boolean {
  if (status === "succeeded") return true;
  if ((status !== "partial" && status !== "failed") || error !== undefined || results.length === 0)
    return false;
  return results.every(({ outcome, caused_by, skipped_because, action }) => {
    if (outcome === "failed") return caused_by.length > 0 && action !== "remove";
    return outcome !== "skipped" || skipped_because === "condition" || skipped_because === "undesired";
  });
}

/**
 * What is left of a baseline. An agent refuses a list in which one names another that is not there, so nothing names what is forgotten;
 * what that came behind is required in its place.
 */
function withoutForgotten(
  resources: readonly ResolvedResource[],
  forgotten: ReadonlySet<string>,
): ResolvedResource[] {
  const byKey = new Map(resources.map((resource) => [resourceKey(resource), resource]));
  const known = new Map<string, readonly string[]>();
  const namedBy = (resource: ResolvedResource): string[] =>
    edgeProperties.flatMap((property) => resource[property] ?? []);
  const standIns = (module: string, id: string): readonly string[] => {
    const key = resourceKey({ module, resource_id: id });
    if (!forgotten.has(key)) return [id];
    const resource = byKey.get(key);
    if (!known.has(key) && resource)
      known.set(key, [...new Set(namedBy(resource).flatMap((each) => standIns(module, each)))]);
    return known.get(key) ?? [];
  };
  return resources.flatMap((resource) => {
    if (forgotten.has(resourceKey(resource))) return [];
    const own = namedBy(resource);
    const isNamed = (id: string): boolean => !forgotten.has(resourceKey({ ...resource, resource_id: id }));
    if (own.every(isNamed)) return [resource];
    const kept = { ...resource };
    for (const property of edgeProperties)
      if (resource[property]) kept[property] = resource[property].filter(isNamed);
    const passed = own.filter((id) => !isNamed(id)).flatMap((id) => standIns(resource.module, id));
    kept.requires = [...new Set([...kept.requires, ...passed])];
    return [kept];
  });
}
