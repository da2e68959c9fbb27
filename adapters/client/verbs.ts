/** The calls of the REST surface by name, with the types of the library. */
import type {
  Agent,
  AgentAttributes,
  Assignment,
  AssignmentDetail,
  AuditEvent,
  AuditVerification,
  DriftDetail,
  EventStreamItem,
  Module,
  ModuleDetail,
  Operation,
  OperationDetail,
  OperationOutputList,
  OperationWatchItem,
  Operator,
  Page,
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

/** Calls by feature. */
export type Verbs = ReturnType<typeof createVerbs>;

/** Gives each call its name. */
export function createVerbs(call: Call, watch: Watch) {
  return {
    status: { get: () => call<Status>("GET", "/status") },
    session: { get: () => call<SessionInfo>("GET", "/auth/session") },
    operators: {
      list: (query?: Query) => call<Page<Operator>>("GET", "/operators", { query }),
      add: (body: { username: string; public_key: string; role?: Role }) =>
        call<Operator>("POST", "/operators", { body }),
      remove: (id: string) => call<null>("DELETE", at`/operators/${id}`),
    },
    agents: {
      list: (query?: Query) => call<Page<Agent>>("GET", "/agents", { query }),
      get: (nodeId: string) => call<Agent>("GET", at`/agents/${nodeId}`),
      setStatus: (nodeId: string, body: { status: "approved" | "rejected"; name?: string }) =>
        call<Agent>("POST", at`/agents/${nodeId}`, { body }),
      remove: (nodeId: string) => call<null>("DELETE", at`/agents/${nodeId}`),
      attributes: (nodeId: string) => call<AgentAttributes>("GET", at`/agents/${nodeId}/attributes`),
      plan: (nodeId: string, body: RunInput = {}) =>
        call<Operation>("POST", at`/agents/${nodeId}/plan`, { body }),
      apply: (nodeId: string, body: RunInput = {}) =>
        call<Operation>("POST", at`/agents/${nodeId}/apply`, { body }),
      checkDrift: (nodeId: string, body: { wait_seconds?: number } = {}) =>
        call<DriftDetail>("POST", at`/agents/${nodeId}/drift`, { body }),
    },
    drift: { get: (driftId: string) => call<DriftDetail>("GET", at`/drift/${driftId}`) },
    tags: {
      list: () => call<TagList>("GET", "/tags"),
      set: (nodeId: string, key: string, value: string) =>
        call<{ tags: Record<string, string> }>("PUT", at`/agents/${nodeId}/tags/${key}`, { body: { value } }),
      remove: (nodeId: string, key: string) => call<null>("DELETE", at`/agents/${nodeId}/tags/${key}`),
    },
    modules: {
      list: (query?: Query) => call<Page<Module>>("GET", "/modules", { query }),
      get: (name: string, query?: { revision?: number }) =>
        call<ModuleDetail>("GET", at`/modules/${name}`, { query }),
      upload: (body: { content: string; name?: string }) =>
        call<UploadedModule>("POST", "/modules", { body }),
      remove: (name: string) => call<null>("DELETE", at`/modules/${name}`),
    },
    assignments: {
      list: (query?: Query) => call<Page<Assignment>>("GET", "/assignments", { query }),
      get: (name: string) => call<AssignmentDetail>("GET", at`/assignments/${name}`),
      create: (body: NewAssignment) => call<Assignment>("POST", "/assignments", { body }),
      remove: (name: string) => call<null>("DELETE", at`/assignments/${name}`),
      plan: (name: string, body: { wait_seconds?: number } = {}) =>
        call<RolloutDetail>("POST", at`/assignments/${name}/plan`, { body }),
      apply: (name: string, body: { wait_seconds?: number; rollout?: RolloutStrategy } = {}) =>
        call<RolloutDetail>("POST", at`/assignments/${name}/apply`, { body }),
    },
    rollouts: {
      list: (query?: Query) => call<Page<Rollout>>("GET", "/rollouts", { query }),
      get: (rolloutId: string) => call<RolloutDetail>("GET", at`/rollouts/${rolloutId}`),
      agents: (rolloutId: string, query?: Query) =>
        call<Page<RolloutMember>>("GET", at`/rollouts/${rolloutId}/agents`, { query }),
      pause: (rolloutId: string) => call<RolloutDetail>("POST", at`/rollouts/${rolloutId}/pause`),
      resume: (rolloutId: string) => call<RolloutDetail>("POST", at`/rollouts/${rolloutId}/resume`),
      cancel: (rolloutId: string) => call<RolloutDetail>("POST", at`/rollouts/${rolloutId}/cancel`),
    },
    operations: {
      list: (query?: Query) => call<Page<Operation>>("GET", "/state/operations", { query }),
      get: (operationId: string) => call<OperationDetail>("GET", at`/state/operations/${operationId}`),
      /** How an operation goes on, to its end: `ended` is the last item. Who comes back is told all of it again. */
      watch: (operationId: string, signal?: AbortSignal) =>
        untilEnded(watch<OperationWatchItem>(at`/state/operations/${operationId}/watch`, {}, signal)),
      cancel: (operationId: string) => call<Operation>("POST", at`/state/operations/${operationId}/cancel`),
      output: (nodeId: string, operationId: string) =>
        call<OperationOutputList>("GET", at`/agents/${nodeId}/state/operations/${operationId}/output`),
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
      create: () => call<ReadableStream<Uint8Array>>("GET", "/backup", { asStream: true }),
    },
    audit: {
      list: (query?: Query) => call<Page<AuditEvent>>("GET", "/audit", { query }),
      verify: () => call<AuditVerification>("GET", "/audit/verify"),
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
