/** What somebody else may do to what a call read or writes, by the collection it is kept in. */
import { toHex } from "fleetwright";
import type { CallToSend, Moment } from "./interrupted-call.ts";
import type { MetCommit } from "./meeting-storage.ts";
import { calling, marking, type Meeting, type Rival } from "./race-everywhere.ts";

type Call = Omit<CallToSend, "token">;
type Body = Record<string, unknown>;
type Verb = [method: string, path: (key: string) => string, body?: Body];

/** The verbs that change a document, by its key. */
const verbs: Readonly<Record<string, readonly Verb[]>> = {
  operators: [
    ["PATCH", (id) => `/operators/${id}`, { role: "Viewer" }],
    ["DELETE", (id) => `/operators/${id}`],
  ],
  sessions: [["DELETE", () => "/auth/session"]],
  agents: [
    ["PUT", (id) => `/agents/${id}/name`, { name: "renamed" }],
    ["PUT", (id) => `/agents/${id}/tags/zone`, { value: "north" }],
    ["PUT", (id) => `/agents/${id}/tags`, { tags: { only: "this" } }],
    ["POST", (id) => `/agents/${id}`, { status: "rejected" }],
    ["DELETE", (id) => `/agents/${id}`],
  ],
  enrolment_tokens: [["DELETE", (id) => `/enrolment-tokens/${id}`]],
  modules: [
    ["POST", () => "/modules", { content: "name: web\nresources: []\n" }],
    ["DELETE", (name) => `/modules/${name}`],
    ["POST", () => "/assignments", { name: "rival", selector: "role=web", modules: ["web"] }],
  ],
  assignments: [
    ["PUT", (name) => `/assignments/${name}`, { description: "Somebody else's" }],
    ["DELETE", (name) => `/assignments/${name}`],
    ["POST", (name) => `/assignments/${name}/apply`, { wait_seconds: 0 }],
  ],
  rollouts: [
    ["POST", (id) => `/rollouts/${id}/pause`],
    ["POST", (id) => `/rollouts/${id}/resume`],
    ["POST", (id) => `/rollouts/${id}/cancel`],
  ],
  operations: [["POST", (id) => `/state/operations/${id}/cancel`]],
  thresholds: [
    ["PUT", (id) => `/thresholds/${id}`, { severity: "warning" }],
    ["DELETE", (id) => `/thresholds/${id}`],
  ],
  secrets: [
    ["PUT", (name) => `/secrets/${name}`, { description: "Somebody else's" }],
    ["PUT", (name) => `/secrets/${name}`, { value: "another" }],
    ["DELETE", (name) => `/secrets/${name}`],
    ["POST", () => "/secrets-key/rotate"],
  ],
  maintenance_windows: [
    ["PUT", (id) => `/maintenance-windows/${id}`, { reason: "Somebody else's" }],
    ["DELETE", (id) => `/maintenance-windows/${id}`],
  ],
  channels: [
    ["PUT", (id) => `/channels/${id}`, { name: "Somebody else's" }],
    ["DELETE", (id) => `/channels/${id}`],
  ],
  settings: [["PUT", () => "/audit/retention", { retention_days: 400 }]],
  notification_readers: [["PUT", () => "/notifications/preferences", { min_severity: "critical" }]],
  notifications: [["POST", () => "/notifications/read-all"]],
};

/** What takes several verbs, one after the other. */
const inSteps: Readonly<Record<string, readonly Verb[]>> = {
  agents: [
    ["POST", (id) => `/agents/${id}`, { status: "rejected" }],
    ["DELETE", (id) => `/agents/${id}`],
  ],
  assignments: [
    ["DELETE", (name) => `/assignments/${name}`],
    ["POST", () => "/assignments", { name: "web", selector: "*", modules: ["web"] }],
  ],
  secrets: [
    ["DELETE", (name) => `/secrets/${name}`],
    ["POST", () => "/secrets", { name: "db-password", value: "of another" }],
  ],
};

/** Verbs that make what the call found absent, by the call. */
const makers: Readonly<Record<string, readonly [method: string, path: string, body: Body][]>> = {
  "modules.remove": [["POST", "/assignments", { name: "rival", selector: "*", modules: ["old"] }]],
  "modules.upload": [["POST", "/modules", { content: "name: web\nresources: []\n" }]],
  "assignments.create": [["POST", "/assignments", { name: "WEB", selector: "role=web", modules: ["web"] }]],
  "secrets.create": [["POST", "/secrets", { name: "db-password", value: "another" }]],
  "secrets.remove": [["POST", "/modules", { content: usingTheSecret() }]],
  "operators.add": [
    [
      "POST",
      "/operators",
      { username: "ADA", public_key: toHex(new Uint8Array(32).fill(2)), role: "Viewer" },
    ],
  ],
};

function usingTheSecret(): string {
  return 'name: uses\nresources:\n  - { id: f, type: file, path: /etc/f, content: "{{ secret.db-password }}" }\n';
}

/**
 * What starts something that goes on behind the answer, step by step and each on what is there by then: between two steps a verb of somebody
 * else is neither before the call nor after it.
 */
export const starting: ReadonlySet<string> = new Set([
  "state.plan",
  "state.applyNow",
  "state.forget",
  "assignments.plan",
  "assignments.applyNow",
  "runs.start",
  "drift.check",
]);

/**
 * All meetings of a call: at each of its commits each document that it changes is marked; each verb of somebody else changes what was read
 * by then or is changed; what it found absent is made; and the same call is made once more.
 */
export function meetingsOf(moment: Moment, commits: readonly MetCommit[]): Meeting[] {
  return commits.flatMap(({ writes, read }, commit) => {
    const there = writes.filter(({ before }) => before !== null);
    if (starting.has(moment.procedure)) return there.map((write) => ({ commit, rival: marking(write) }));
    const touched = new Set([...read, ...there.map(({ collection, key }) => `${collection}/${key}`)]);
    const rivals: Rival[] = [
      ...there.map(marking),
      ...[...touched].flatMap((place) => changing(place, moment)),
      ...(makers[moment.procedure] ?? []).map(([method, path, body]) => by(moment, { method, path, body })),
      by(moment, moment),
    ];
    const byName = new Map(rivals.map((rival) => [rival.name, rival]));
    return [...byName.values()].map((rival) => ({ commit, rival }));
  });
}

function changing(place: string, moment: Moment): Rival[] {
  const [collection = "", ...rest] = place.split("/");
  const key = rest.join("/");
  const toCall = ([method, path, body]: Verb): Call => ({
    method,
    path: path(encodeURIComponent(key)),
    body,
  });
  const steps = inSteps[collection]?.map(toCall);
  const alone = (verbs[collection] ?? []).map((verb) => by(moment, toCall(verb)));
  return steps ? [...alone, by(moment, ...steps)] : alone;
}

function by({ token }: Moment, ...calls: Call[]): Rival {
  const name = calls.map(({ method, path, body }) => `${method} ${path} ${JSON.stringify(body ?? {})}`);
  return calling(
    name.join(", then "),
    calls.map(({ method, path, body }) => ({ method, path, token, body })),
  );
}
