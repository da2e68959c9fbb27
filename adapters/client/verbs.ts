/** The calls of the REST surface by name, with the types of the library. */
import type {
  Agent,
  AgentAttributes,
  AgentTags,
  Assignment,
  AssignmentDetail,
  AuditEvent,
  AuditRetention,
  AuditVerification,
  BelievedState,
  DriftDetail,
  DriftRecord,
  EventPattern,
  EventStreamItem,
  MatchedType,
  Module,
  ModuleDetail,
  Operation,
  OperationDetail,
  OperationOutputList,
  OperationWatchItem,
  Operator,
  Page,
  PruneResult,
  RejectedAgents,
  RestoreState,
  Rollout,
  RolloutDetail,
  RolloutMember,
  Status,
  TagList,
} from "fleetwright";
import type { Query, RequestExtras } from "./http.ts";
import type {
  AssignmentChange,
  EventFilter,
  Input,
  NewAssignment,
  NewOperator,
  PlanInput,
  RunInput,
  StatusChange,
  WaitInput,
} from "./inputs.ts";

/** Calls the server. */
export type Call = <Result>(method: string, path: string, extras?: RequestExtras) => Promise<Result>;

/** What every call may be told beside its input. */
export type CallOptions = Pick<RequestExtras, "signal" | "ifVersion" | "idempotencyKey">;

/** Who is signed in, and until when. */
export interface SessionInfo {
  expires_at: string;
  operator: Operator;
}

/** An uploaded module; `created` says whether the content was new. */
export type UploadedModule = Module & { created: boolean };

/** Reads a stream of the server. */
export type Watch = <Item>(path: string, query?: Query, signal?: AbortSignal) => AsyncGenerator<Item, void>;

/** Calls by feature. */
export type Verbs = ReturnType<typeof createVerbs>;

/** Gives each call its name. */
export function createVerbs(call: Call, watch: Watch) {
  const get = <Result>(path: string, options?: CallOptions, query?: Query) =>
    call<Result>("GET", path, { ...options, query });
  const post = <Result>(path: string, body: object | undefined, options?: CallOptions) =>
    call<Result>("POST", path, { ...options, body });
  const put = <Result>(path: string, body: object, options?: CallOptions) =>
    call<Result>("PUT", path, { ...options, body });
  const remove = (path: string, options?: CallOptions) => call<null>("DELETE", path, options);
  return {
    status: { get: (options?: CallOptions) => get<Status>("/status", options) },
    session: { get: (options?: CallOptions) => get<SessionInfo>("/auth/session", options) },
    operators: {
      list: (query?: Input<"listOperatorsInput">, options?: CallOptions) =>
        get<Page<Operator>>("/operators", options, query),
      get: (id: string, options?: CallOptions) => get<Operator>(at`/operators/${id}`, options),
      add: (body: NewOperator, options?: CallOptions) => post<Operator>("/operators", body, options),
      setRole: (id: string, role: Input<"setRoleInput">["role"], options?: CallOptions) =>
        call<Operator>("PATCH", at`/operators/${id}`, { ...options, body: { role } }),
      remove: (id: string, options?: CallOptions) => remove(at`/operators/${id}`, options),
    },
    agents: {
      list: (query?: Input<"listAgentsInput">, options?: CallOptions) =>
        get<Page<Agent>>("/agents", options, query),
      get: (nodeId: string, options?: CallOptions) => get<Agent>(at`/agents/${nodeId}`, options),
      setStatus: (nodeId: string, body: StatusChange, options?: CallOptions) =>
        post<Agent>(at`/agents/${nodeId}`, body, options),
      rejectPending: (body: Input<"rejectPendingInput"> = {}, options?: CallOptions) =>
        post<RejectedAgents>("/pending-agents/reject", body, options),
      remove: (nodeId: string, options?: CallOptions) => remove(at`/agents/${nodeId}`, options),
      attributes: (nodeId: string, options?: CallOptions) =>
        get<AgentAttributes>(at`/agents/${nodeId}/attributes`, options),
      believed: (nodeId: string, options?: CallOptions) =>
        get<BelievedState>(at`/agents/${nodeId}/state`, options),
      plan: (nodeId: string, body: PlanInput = {}, options?: CallOptions) =>
        post<Operation>(at`/agents/${nodeId}/plan`, body, options),
      apply: (nodeId: string, body: RunInput = {}, options?: CallOptions) =>
        post<Operation>(at`/agents/${nodeId}/apply`, body, options),
      checkDrift: (nodeId: string, body: WaitInput = {}, options?: CallOptions) =>
        post<DriftDetail>(at`/agents/${nodeId}/drift`, body, options),
    },
    drift: {
      list: (nodeId: string, query?: Input<"listDriftInput", "node_id">, options?: CallOptions) =>
        get<Page<DriftRecord>>(at`/agents/${nodeId}/drift`, options, query),
      latest: (nodeId: string, options?: CallOptions) =>
        get<DriftDetail>(at`/agents/${nodeId}/drift/latest`, options),
      get: (driftId: string, options?: CallOptions) => get<DriftDetail>(at`/drift/${driftId}`, options),
    },
    tags: {
      list: (options?: CallOptions) => get<TagList>("/tags", options),
      replace: (nodeId: string, tags: Input<"replaceTagsInput">["tags"], options?: CallOptions) =>
        put<AgentTags>(at`/agents/${nodeId}/tags`, { tags }, options),
      set: (nodeId: string, tag: Input<"setTagInput", "node_id">, options?: CallOptions) =>
        put<AgentTags>(at`/agents/${nodeId}/tags/${tag.key}`, { value: tag.value }, options),
      remove: (nodeId: string, key: string, options?: CallOptions) =>
        remove(at`/agents/${nodeId}/tags/${key}`, options),
    },
    modules: {
      list: (query?: Input<"listModulesInput">, options?: CallOptions) =>
        get<Page<Module>>("/modules", options, query),
      get: (name: string, query?: Input<"getModuleInput", "name">, options?: CallOptions) =>
        get<ModuleDetail>(at`/modules/${name}`, options, query),
      upload: (body: Input<"uploadModuleInput">, options?: CallOptions) =>
        post<UploadedModule>("/modules", body, options),
      remove: (name: string, options?: CallOptions) => remove(at`/modules/${name}`, options),
    },
    assignments: {
      list: (query?: Input<"listAssignmentsInput">, options?: CallOptions) =>
        get<Page<Assignment>>("/assignments", options, query),
      get: (name: string, options?: CallOptions) => get<AssignmentDetail>(at`/assignments/${name}`, options),
      create: (body: NewAssignment, options?: CallOptions) => post<Assignment>("/assignments", body, options),
      /** What is absent stays as it is, and null takes away. */
      update: (name: string, body: AssignmentChange, options?: CallOptions) =>
        put<Assignment>(at`/assignments/${name}`, body, options),
      remove: (name: string, options?: CallOptions) => remove(at`/assignments/${name}`, options),
      plan: (name: string, body: Input<"rolloutPlanInput", "name"> = {}, options?: CallOptions) =>
        post<RolloutDetail>(at`/assignments/${name}/plan`, body, options),
      apply: (name: string, body: Input<"rolloutApplyInput", "name"> = {}, options?: CallOptions) =>
        post<RolloutDetail>(at`/assignments/${name}/apply`, body, options),
    },
    rollouts: {
      list: (query?: Input<"listRolloutsInput">, options?: CallOptions) =>
        get<Page<Rollout>>("/rollouts", options, query),
      get: (rolloutId: string, options?: CallOptions) =>
        get<RolloutDetail>(at`/rollouts/${rolloutId}`, options),
      agents: (rolloutId: string, query?: Input<"listMembersInput", "rollout_id">, options?: CallOptions) =>
        get<Page<RolloutMember>>(at`/rollouts/${rolloutId}/agents`, options, query),
      pause: (rolloutId: string, options?: CallOptions) =>
        post<RolloutDetail>(at`/rollouts/${rolloutId}/pause`, undefined, options),
      resume: (rolloutId: string, options?: CallOptions) =>
        post<RolloutDetail>(at`/rollouts/${rolloutId}/resume`, undefined, options),
      cancel: (rolloutId: string, options?: CallOptions) =>
        post<RolloutDetail>(at`/rollouts/${rolloutId}/cancel`, undefined, options),
    },
    operations: {
      list: (query?: Input<"listOperationsInput">, options?: CallOptions) =>
        get<Page<Operation>>("/state/operations", options, query),
      listForAgent: (
        nodeId: string,
        query?: Input<"listAgentOperationsInput", "node_id">,
        options?: CallOptions,
      ) => get<Page<Operation>>(at`/agents/${nodeId}/state/operations`, options, query),
      get: (operationId: string, options?: CallOptions) =>
        get<OperationDetail>(at`/state/operations/${operationId}`, options),
      /** How an operation goes on, to its end: `ended` is the last item. Who comes back is told all of it again. */
      watch: (operationId: string, signal?: AbortSignal) =>
        untilEnded(watch<OperationWatchItem>(at`/state/operations/${operationId}/watch`, {}, signal)),
      cancel: (operationId: string, options?: CallOptions) =>
        post<Operation>(at`/state/operations/${operationId}/cancel`, undefined, options),
      output: (nodeId: string, operationId: string, options?: CallOptions) =>
        get<OperationOutputList>(at`/agents/${nodeId}/state/operations/${operationId}/output`, options),
    },
    events: {
      /**
       * Events as they happen. The first item is a `position`: what is read after it misses no change; the same goes for a
       * `reset`, before which something was missed. `filter.types` narrows the events for the compiler, too.
       */
      stream: <const Pattern extends EventPattern = EventPattern>(
        filter: EventFilter<Pattern> = {},
        signal?: AbortSignal,
      ) => watch<EventStreamItem<MatchedType<Pattern>>>("/events", { ...filter }, signal),
    },
    backups: {
      /** The bytes of a backup, as they come; a connection that breaks off is an error while reading. */
      create: (options?: CallOptions) =>
        call<ReadableStream<Uint8Array>>("GET", "/backup", { ...options, asStream: true }),
    },
    restores: {
      get: (options?: CallOptions) => get<RestoreState>("/restore", options),
      resume: (options?: CallOptions) => post<RestoreState>("/restore/resume", {}, options),
    },
    audit: {
      list: (query?: Input<"listAuditInput">, options?: CallOptions) =>
        get<Page<AuditEvent>>("/audit", options, query),
      verify: (options?: CallOptions) => get<AuditVerification>("/audit/verify", options),
      /**
       * Removes the events before an instant for ever. With `expected` nothing goes where another number would; `dry_run` tells how many
       * would go and removes nothing.
       */
      prune: (query: Input<"pruneAuditInput">, options?: CallOptions) =>
        call<PruneResult>("DELETE", "/audit", { ...options, query }),
      getRetention: (options?: CallOptions) => get<AuditRetention>("/audit/retention", options),
      setRetention: (body: Input<"setRetentionInput">, options?: CallOptions) =>
        put<AuditRetention>("/audit/retention", body, options),
    },
  };
}

async function* untilEnded(items: AsyncGenerator<OperationWatchItem, void>) {
  for await (const item of items) {
    yield item;
    if (item.type === "ended") return;
  }
}

/** Puts values into a path, each as one part of it. */
function at(parts: TemplateStringsArray, ...values: string[]): string {
  return parts.map((part, index) => part + encodeURIComponent(values[index] ?? "")).join("");
}
