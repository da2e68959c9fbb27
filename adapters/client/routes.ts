/** Where each verb of the client goes. Written from the router by a test: `npm run generate`. */
import type { RoutedVerbs } from "./routed-verbs.ts";

/** Where one verb goes. */
export interface Route {
  method: string;
  /** Below `/api/v1`. The first value in braces is given by itself, others with the rest of the input. */
  path: string;
  /** Where the rest of the input goes, but for what stands in the path; absent where there is none. */
  input?: "query" | "body";
  /** Whether the answer is bytes. */
  asStream?: true;
}

export const routes: {
  readonly [Group in keyof RoutedVerbs]: Readonly<Record<keyof RoutedVerbs[Group], Route>>;
} = {
  status: {
    get: { method: "GET", path: "/status" },
  },
  summary: {
    get: { method: "GET", path: "/summary" },
  },
  auth: {
    session: { method: "GET", path: "/auth/session" },
  },
  operators: {
    list: { method: "GET", path: "/operators", input: "query" },
    add: { method: "POST", path: "/operators", input: "body" },
    get: { method: "GET", path: "/operators/{operator_id}" },
    remove: { method: "DELETE", path: "/operators/{operator_id}" },
    setRole: { method: "PATCH", path: "/operators/{operator_id}", input: "body" },
  },
  agents: {
    list: { method: "GET", path: "/agents", input: "query" },
    get: { method: "GET", path: "/agents/{node_id}" },
    setStatus: { method: "POST", path: "/agents/{node_id}", input: "body" },
    remove: { method: "DELETE", path: "/agents/{node_id}" },
    setStatuses: { method: "POST", path: "/agent-statuses", input: "body" },
    rename: { method: "PUT", path: "/agents/{node_id}/name", input: "body" },
    setNames: { method: "POST", path: "/agent-names", input: "body" },
    replace: { method: "POST", path: "/agents/{node_id}/replace", input: "body" },
    rejectPending: { method: "POST", path: "/pending-agents/reject", input: "body" },
    refreshAttributes: { method: "POST", path: "/agents/{node_id}/attributes/refresh", input: "body" },
    attributes: { method: "GET", path: "/agents/{node_id}/attributes" },
  },
  enrolmentTokens: {
    list: { method: "GET", path: "/enrolment-tokens", input: "query" },
    get: { method: "GET", path: "/enrolment-tokens/{id}" },
    create: { method: "POST", path: "/enrolment-tokens", input: "body" },
    revoke: { method: "DELETE", path: "/enrolment-tokens/{id}" },
  },
  tags: {
    list: { method: "GET", path: "/tags" },
    replace: { method: "PUT", path: "/agents/{node_id}/tags", input: "body" },
    set: { method: "PUT", path: "/agents/{node_id}/tags/{key}", input: "body" },
    remove: { method: "DELETE", path: "/agents/{node_id}/tags/{key}", input: "query" },
    change: { method: "POST", path: "/agent-tags", input: "body" },
  },
  modules: {
    list: { method: "GET", path: "/modules", input: "query" },
    upload: { method: "POST", path: "/modules", input: "body" },
    get: { method: "GET", path: "/modules/{name}", input: "query" },
    remove: { method: "DELETE", path: "/modules/{name}" },
  },
  assignments: {
    list: { method: "GET", path: "/assignments", input: "query" },
    create: { method: "POST", path: "/assignments", input: "body" },
    get: { method: "GET", path: "/assignments/{name}" },
    update: { method: "PUT", path: "/assignments/{name}", input: "body" },
    remove: { method: "DELETE", path: "/assignments/{name}" },
    apply: { method: "POST", path: "/assignments/{name}/apply", input: "body" },
    plan: { method: "POST", path: "/assignments/{name}/plan", input: "body" },
  },
  rollouts: {
    list: { method: "GET", path: "/rollouts", input: "query" },
    get: { method: "GET", path: "/rollouts/{rollout_id}", input: "query" },
    agents: { method: "GET", path: "/rollouts/{rollout_id}/agents", input: "query" },
    changes: { method: "GET", path: "/rollouts/{rollout_id}/changes", input: "query" },
    pause: { method: "POST", path: "/rollouts/{rollout_id}/pause", input: "body" },
    resume: { method: "POST", path: "/rollouts/{rollout_id}/resume", input: "body" },
    cancel: { method: "POST", path: "/rollouts/{rollout_id}/cancel", input: "body" },
  },
  runs: {
    start: { method: "POST", path: "/state/runs", input: "body" },
    get: { method: "GET", path: "/state/runs/{rollout_id}" },
    cancel: { method: "POST", path: "/state/runs/{rollout_id}/cancel" },
  },
  state: {
    apply: { method: "POST", path: "/agents/{node_id}/apply", input: "body" },
    plan: { method: "POST", path: "/agents/{node_id}/plan", input: "body" },
    forget: { method: "POST", path: "/agents/{node_id}/state/forget", input: "body" },
    believed: { method: "GET", path: "/agents/{node_id}/state" },
  },
  operations: {
    list: { method: "GET", path: "/state/operations", input: "query" },
    listForAgent: { method: "GET", path: "/agents/{node_id}/state/operations", input: "query" },
    get: { method: "GET", path: "/state/operations/{operation_id}" },
    output: {
      method: "GET",
      path: "/agents/{node_id}/state/operations/{operation_id}/output",
      input: "query",
    },
    cancel: { method: "POST", path: "/state/operations/{operation_id}/cancel" },
  },
  drift: {
    check: { method: "POST", path: "/agents/{node_id}/drift", input: "body" },
    newest: { method: "GET", path: "/drift", input: "query" },
    list: { method: "GET", path: "/agents/{node_id}/drift", input: "query" },
    latest: { method: "GET", path: "/agents/{node_id}/drift/latest" },
    get: { method: "GET", path: "/drift/{drift_id}" },
  },
  discovery: {
    broadcast: { method: "POST", path: "/discover", input: "body" },
  },
  metrics: {
    history: { method: "GET", path: "/agents/{node_id}/metrics", input: "query" },
    latest: { method: "GET", path: "/agents/{node_id}/metrics/latest" },
    prometheus: { method: "GET", path: "/metrics/prometheus", input: "query", asStream: true },
  },
  thresholds: {
    list: { method: "GET", path: "/thresholds", input: "query" },
    get: { method: "GET", path: "/thresholds/{id}" },
    create: { method: "POST", path: "/thresholds", input: "body" },
    update: { method: "PUT", path: "/thresholds/{id}", input: "body" },
    remove: { method: "DELETE", path: "/thresholds/{id}" },
    alarms: { method: "GET", path: "/alarms", input: "query" },
  },
  secrets: {
    list: { method: "GET", path: "/secrets", input: "query" },
    get: { method: "GET", path: "/secrets/{name}" },
    create: { method: "POST", path: "/secrets", input: "body" },
    update: { method: "PUT", path: "/secrets/{name}", input: "body" },
    remove: { method: "DELETE", path: "/secrets/{name}" },
    rotateKey: { method: "POST", path: "/secrets-key/rotate" },
  },
  terminals: {
    list: { method: "GET", path: "/terminal", input: "query" },
    get: { method: "GET", path: "/terminal/session/{session_id}" },
    open: { method: "POST", path: "/terminal/{node_id}", input: "body" },
    ticket: { method: "POST", path: "/terminal/session/{session_id}/ticket" },
    close: { method: "DELETE", path: "/terminal/session/{session_id}" },
    transcript: {
      method: "GET",
      path: "/terminal/session/{session_id}/transcript",
      input: "query",
      asStream: true,
    },
  },
  maintenanceWindows: {
    list: { method: "GET", path: "/maintenance-windows", input: "query" },
    get: { method: "GET", path: "/maintenance-windows/{id}" },
    create: { method: "POST", path: "/maintenance-windows", input: "body" },
    update: { method: "PUT", path: "/maintenance-windows/{id}", input: "body" },
    remove: { method: "DELETE", path: "/maintenance-windows/{id}" },
  },
  notifications: {
    list: { method: "GET", path: "/notifications", input: "query" },
    readAll: { method: "POST", path: "/notifications/read-all" },
    preferences: { method: "GET", path: "/notifications/preferences" },
    updatePreferences: { method: "PUT", path: "/notifications/preferences", input: "body" },
    read: { method: "POST", path: "/notifications/{id}/read" },
  },
  channels: {
    list: { method: "GET", path: "/channels", input: "query" },
    get: { method: "GET", path: "/channels/{id}" },
    create: { method: "POST", path: "/channels", input: "body" },
    update: { method: "PUT", path: "/channels/{id}", input: "body" },
    remove: { method: "DELETE", path: "/channels/{id}" },
    test: { method: "POST", path: "/channels/{id}/test" },
    deliveries: { method: "GET", path: "/channels/{id}/deliveries", input: "query" },
    redeliver: { method: "POST", path: "/channels/{id}/deliveries/{delivery_id}/redeliver", input: "body" },
  },
  backups: {
    create: { method: "GET", path: "/backup", asStream: true },
  },
  restores: {
    get: { method: "GET", path: "/restore" },
    resume: { method: "POST", path: "/restore/resume" },
  },
  audit: {
    list: { method: "GET", path: "/audit", input: "query" },
    verify: { method: "GET", path: "/audit/verify", input: "query" },
    head: { method: "GET", path: "/audit/head" },
    prune: { method: "DELETE", path: "/audit", input: "query" },
    getRetention: { method: "GET", path: "/audit/retention" },
    setRetention: { method: "PUT", path: "/audit/retention", input: "body" },
  },
};
