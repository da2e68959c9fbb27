/** The calls of the REST surface by name, with the types of the library. */
import type {
  Agent,
  AgentAttributes,
  Assignment,
  AssignmentDetail,
  AuditEvent,
  AuditRetention,
  AuditVerification,
  BelievedState,
  DriftDetail,
  DriftRecord,
  EventStreamItem,
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
  Role,
  Rollout,
  RolloutDetail,
  RolloutMember,
  RolloutStrategy,
  Schedule,
  Status,
  TagList,
} from "fleetwright";
import type { Query, RequestExtras } from "./http.ts";

/** Calls the server. */
export type Call = <Result>(method: string, path: string, extras?: RequestExtras) => Promise<Result>;

/** What every call may be told beside its input. */
export type CallOptions = Pick<RequestExtras, "signal" | "ifMatch" | "idempotencyKey">;

/** Somebody who may sign in from now on. */
export interface NewOperator {
  username: string;
  /** Ed25519, as 64 hex digits or base64. */
  public_key: string;
  /** Default Operator. */
  role?: Role;
}

/** Approval or rejection of an agent. */
export interface StatusChange {
  status: "approved" | "rejected";
  /** Default the hostname, made valid and unique. Once set it stays. */
  name?: string;
}

/** Which of the agents that wait for approval are meant; every filter must hold. */
export interface PendingFilter {
  /** Address or network that they came from, such as `203.0.113.0/24`. */
  network?: string;
  connected?: boolean;
}

/** For how long a call waits for the end. */
export interface WaitInput {
  /** Seconds, 0-300. Default 30. */
  wait_seconds?: number;
}

/** All tags of an agent. */
interface AgentTags {
  tags: Record<string, string>;
}

/** Who is signed in, and until when. */
export interface SessionInfo {
  expires_at: string;
  operator: Operator;
}

/** What a plan or an apply of one agent may be told. */
export interface RunInput {
  /** Modules beside those that assignments bring. */
  modules?: readonly string[];
  /** Values for params of modules, for this operation only. */
  params?: Assignment["params"];
  timeout_seconds?: number;
  when_offline?: "fail" | "queue";
  /** Seconds to wait for the end before the answer comes, 0-300. Default 30. */
  wait_seconds?: number;
  /** Whether everything that was applied may be removed. Only for an apply. */
  allow_empty?: boolean;
  /** A plan of this agent, to apply exactly that; only for an apply, and not beside modules and params. */
  plan_id?: string;
}

/** An assignment to be created. */
export interface NewAssignment {
  name: string;
  selector: string;
  modules: readonly string[];
  /** Values for the params of its modules. */
  params?: Assignment["params"];
  description?: string;
  /** How it is applied where a call says nothing else. */
  rollout?: RolloutStrategy;
  /** When it is applied by itself. */
  schedule?: Pick<Schedule, "cron"> & Partial<Schedule>;
  /** Whether what was applied is applied again where it drifts. Default false. */
  enforce?: boolean;
}

/** An uploaded module; `created` says whether the content was new. */
export type UploadedModule = Module & { created: boolean };

/** Reads a stream of the server. */
export type Watch = <Item>(path: string, query?: Query, signal?: AbortSignal) => AsyncGenerator<Item, void>;

/** Which events of a stream. */
export interface EventFilter {
  /** Types, or all of a kind as in `agent.*`. Default all. */
  types?: readonly string[];
  /** Only what concerns one agent. */
  node_id?: string;
}

/** How carefully the audit log is pruned. */
export interface PruneOptions {
  /** How many events that must be: `COUNT_DIFFERS` where there are more or fewer. */
  expected?: number;
  /** Whether nothing is removed, and `would_delete` tells what would be. Default false. */
  dryRun?: boolean;
}

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
      list: (query?: Query, options?: CallOptions) => get<Page<Operator>>("/operators", options, query),
      get: (id: string, options?: CallOptions) => get<Operator>(at`/operators/${id}`, options),
      add: (body: NewOperator, options?: CallOptions) => post<Operator>("/operators", body, options),
      setRole: (id: string, role: Role, options?: CallOptions) =>
        call<Operator>("PATCH", at`/operators/${id}`, { ...options, body: { role } }),
      remove: (id: string, options?: CallOptions) => remove(at`/operators/${id}`, options),
    },
    agents: {
      list: (query?: Query, options?: CallOptions) => get<Page<Agent>>("/agents", options, query),
      get: (nodeId: string, options?: CallOptions) => get<Agent>(at`/agents/${nodeId}`, options),
      setStatus: (nodeId: string, body: StatusChange, options?: CallOptions) =>
        post<Agent>(at`/agents/${nodeId}`, body, options),
      rejectPending: (body: PendingFilter = {}, options?: CallOptions) =>
        post<RejectedAgents>("/pending-agents/reject", body, options),
      remove: (nodeId: string, options?: CallOptions) => remove(at`/agents/${nodeId}`, options),
      attributes: (nodeId: string, options?: CallOptions) =>
        get<AgentAttributes>(at`/agents/${nodeId}/attributes`, options),
      believed: (nodeId: string, options?: CallOptions) =>
        get<BelievedState>(at`/agents/${nodeId}/state`, options),
      plan: (nodeId: string, body: RunInput = {}, options?: CallOptions) =>
        post<Operation>(at`/agents/${nodeId}/plan`, body, options),
      apply: (nodeId: string, body: RunInput = {}, options?: CallOptions) =>
        post<Operation>(at`/agents/${nodeId}/apply`, body, options),
      checkDrift: (nodeId: string, body: WaitInput = {}, options?: CallOptions) =>
        post<DriftDetail>(at`/agents/${nodeId}/drift`, body, options),
    },
    drift: {
      list: (nodeId: string, query?: Query, options?: CallOptions) =>
        get<Page<DriftRecord>>(at`/agents/${nodeId}/drift`, options, query),
      latest: (nodeId: string, options?: CallOptions) =>
        get<DriftDetail>(at`/agents/${nodeId}/drift/latest`, options),
      get: (driftId: string, options?: CallOptions) => get<DriftDetail>(at`/drift/${driftId}`, options),
    },
    tags: {
      list: (options?: CallOptions) => get<TagList>("/tags", options),
      replace: (nodeId: string, tags: Record<string, string>, options?: CallOptions) =>
        put<AgentTags>(at`/agents/${nodeId}/tags`, { tags }, options),
      set: (nodeId: string, tag: { key: string; value: string }, options?: CallOptions) =>
        put<AgentTags>(at`/agents/${nodeId}/tags/${tag.key}`, { value: tag.value }, options),
      remove: (nodeId: string, key: string, options?: CallOptions) =>
        remove(at`/agents/${nodeId}/tags/${key}`, options),
    },
    modules: {
      list: (query?: Query, options?: CallOptions) => get<Page<Module>>("/modules", options, query),
      get: (name: string, query?: { revision?: number }, options?: CallOptions) =>
        get<ModuleDetail>(at`/modules/${name}`, options, query),
      upload: (body: { content: string; name?: string }, options?: CallOptions) =>
        post<UploadedModule>("/modules", body, options),
      remove: (name: string, options?: CallOptions) => remove(at`/modules/${name}`, options),
    },
    assignments: {
      list: (query?: Query, options?: CallOptions) => get<Page<Assignment>>("/assignments", options, query),
      get: (name: string, options?: CallOptions) => get<AssignmentDetail>(at`/assignments/${name}`, options),
      create: (body: NewAssignment, options?: CallOptions) => post<Assignment>("/assignments", body, options),
      /** What is absent stays as it is. */
      update: (name: string, body: Partial<Omit<NewAssignment, "name">>, options?: CallOptions) =>
        put<Assignment>(at`/assignments/${name}`, body, options),
      remove: (name: string, options?: CallOptions) => remove(at`/assignments/${name}`, options),
      plan: (name: string, body: WaitInput = {}, options?: CallOptions) =>
        post<RolloutDetail>(at`/assignments/${name}/plan`, body, options),
      apply: (name: string, body: WaitInput & { rollout?: RolloutStrategy } = {}, options?: CallOptions) =>
        post<RolloutDetail>(at`/assignments/${name}/apply`, body, options),
    },
    rollouts: {
      list: (query?: Query, options?: CallOptions) => get<Page<Rollout>>("/rollouts", options, query),
      get: (rolloutId: string, options?: CallOptions) =>
        get<RolloutDetail>(at`/rollouts/${rolloutId}`, options),
      agents: (rolloutId: string, query?: Query, options?: CallOptions) =>
        get<Page<RolloutMember>>(at`/rollouts/${rolloutId}/agents`, options, query),
      pause: (rolloutId: string, options?: CallOptions) =>
        post<RolloutDetail>(at`/rollouts/${rolloutId}/pause`, undefined, options),
      resume: (rolloutId: string, options?: CallOptions) =>
        post<RolloutDetail>(at`/rollouts/${rolloutId}/resume`, undefined, options),
      cancel: (rolloutId: string, options?: CallOptions) =>
        post<RolloutDetail>(at`/rollouts/${rolloutId}/cancel`, undefined, options),
    },
    operations: {
      list: (query?: Query, options?: CallOptions) =>
        get<Page<Operation>>("/state/operations", options, query),
      listForAgent: (nodeId: string, query?: Query, options?: CallOptions) =>
        get<Page<Operation>>(at`/agents/${nodeId}/state/operations`, options, query),
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
       * `reset`, before which something was missed.
       */
      stream: (filter: EventFilter = {}, signal?: AbortSignal) =>
        watch<EventStreamItem>("/events", { ...filter }, signal),
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
      list: (query?: Query, options?: CallOptions) => get<Page<AuditEvent>>("/audit", options, query),
      verify: (options?: CallOptions) => get<AuditVerification>("/audit/verify", options),
      /** @param before - RFC 3339, not in the future; events before it go. */
      prune: (before: string, { expected, dryRun, ...options }: CallOptions & PruneOptions = {}) =>
        call<PruneResult>("DELETE", "/audit", {
          ...options,
          query: { before, expected, dry_run: dryRun === true ? true : undefined },
        }),
      getRetention: (options?: CallOptions) => get<AuditRetention>("/audit/retention", options),
      setRetention: (body: AuditRetention, options?: CallOptions) =>
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
