/** Command lines with options, and the request that each of them comes to. */
import { sentChanges } from "./sent-changes.ts";

/** One of them; `$name` is what the scene has under that name, and `·` a blank within a word. */
export interface SentRow {
  line: string;
  /** Method and path. */
  to: string;
  /** All of what it says: of a query texts, of a body what it is. */
  input: unknown;
  /** On standard input. */
  typed?: string;
}

/** Lists, whose filters stand in the query. */
const lists: readonly SentRow[] = [
  {
    line: "agents list --status approved --selector role=web --module motd@1 --last-apply failed --drift drifted --connected --agent-version 1.0 --search we --limit 7",
    to: "GET /agents",
    input: {
      status: "approved",
      selector: "role=web",
      module: "motd@1",
      last_apply: "failed",
      drift: "drifted",
      connected: "true",
      agent_version: "1.0",
      search: "we",
      limit: "7",
    },
  },
  {
    line: "agents list --disconnected --secret-before key@3",
    to: "GET /agents",
    input: { connected: "false", secret_before: "key@3", limit: "100" },
  },
  {
    line: "operations list --agent web-1 --kind apply --status failed --assignment motd --limit 3",
    to: "GET /state/operations",
    input: { node_id: "$node", kind: "apply", status: "failed", assignment: "motd", limit: "3" },
  },
  {
    line: "rollouts list --assignment motd --status paused --limit 3",
    to: "GET /rollouts",
    input: { assignment: "motd", status: "paused", limit: "3" },
  },
  {
    line: "rollouts agents $rollout --status failed --changes abc --limit 3",
    to: "GET /rollouts/$rollout/agents",
    input: { status: "failed", changes: "abc", limit: "3" },
  },
  {
    line: "rollouts changes $rollout --limit 3",
    to: "GET /rollouts/$rollout/changes",
    input: { limit: "3" },
  },
  {
    line: "rollouts show $rollout --agents 3",
    to: "GET /rollouts/$rollout",
    input: { show_agents: "3" },
  },
  {
    line: "terminal list --agent web-1 --status closed --limit 3",
    to: "GET /terminal",
    input: { node_id: "$node", status: "closed", limit: "3" },
  },
  {
    line: "alarms --threshold hot --agent web-1 --severity critical --limit 3",
    to: "GET /alarms",
    input: { threshold_id: "$threshold", node_id: "$node", severity: "critical", limit: "3" },
  },
  {
    line: "notifications list --unread --min-severity warning --limit 3",
    to: "GET /notifications",
    input: { unread: "true", min_severity: "warning", limit: "3" },
  },
  {
    line: "audit list --type a.b --category agent --actor ada --target web-1 --from 2026-01-01T00:00:00Z --to 2026-02-01T00:00:00Z --search text --order asc --limit 3",
    to: "GET /audit",
    input: {
      event_type: "a.b",
      category: "agent",
      actor: "ada",
      target: "web-1",
      from: "2026-01-01T00:00:00Z",
      to: "2026-02-01T00:00:00Z",
      search: "text",
      order: "asc",
      limit: "3",
    },
  },
  {
    line: "drift --status drifted --selector role=web --limit 3",
    to: "GET /drift",
    input: { status: "drifted", selector: "role=web", limit: "3" },
  },
  { line: "drift web-1 --list --limit 3", to: "GET /agents/$node/drift", input: { limit: "3" } },
  { line: "drift web-1 --last", to: "GET /agents/$node/drift/latest", input: {} },
  { line: "modules show motd --revision 1", to: "GET /modules/motd", input: { revision: "1" } },
  {
    line: "metrics web-1 --from 2026-01-01T00:00:00Z --to 2026-01-01T02:00:00Z --step 60",
    to: "GET /agents/$node/metrics",
    input: { from: "2026-01-01T00:00:00.000Z", to: "2026-01-01T02:00:00.000Z", step_seconds: "60" },
  },
  { line: "metrics web-1 --now", to: "GET /agents/$node/metrics/latest", input: {} },
  {
    line: "channels deliveries ops --status dead --limit 3",
    to: "GET /channels/$channel/deliveries",
    input: { status: "dead", limit: "3" },
  },
  ...[
    ["enrol", "/enrolment-tokens"],
    ["modules", "/modules"],
    ["secrets", "/secrets"],
    ["assignments", "/assignments"],
    ["thresholds", "/thresholds"],
    ["operators", "/operators"],
    ["windows", "/maintenance-windows"],
    ["channels", "/channels"],
  ].map(([noun, path]) => ({ line: `${noun} list --limit 3`, to: `GET ${path}`, input: { limit: "3" } })),
];

/** Who is in the fleet, and what it is called. */
const admissions: readonly SentRow[] = [
  {
    line: "agents attributes web-1 --refresh",
    to: "POST /agents/$node/attributes/refresh",
    input: {},
  },
  {
    line: "agents approve $pending --name web-2 --yes",
    to: "POST /agents/$pending",
    input: { status: "approved", name: "web-2" },
  },
  ...["--all-pending", "--selector *"].map((which) => ({
    line: `agents approve ${which}`,
    to: "POST /agent-statuses",
    input: { status: "approved", node_ids: ["$pending"], expected_status: "pending" },
  })),
  {
    line: "agents reject --all-pending --yes",
    to: "POST /agent-statuses",
    input: { status: "rejected", node_ids: ["$pending"], expected_status: "pending" },
  },
  {
    line: "agents reject --selector role=web --yes",
    to: "POST /agent-statuses",
    input: { status: "rejected", node_ids: ["$node"] },
  },
  {
    line: "agents reject-pending --network 10.0.0.0/8 --disconnected --yes",
    to: "POST /pending-agents/reject",
    input: { network: "10.0.0.0/8", connected: false },
  },
  { line: "agents reject-pending --all --yes", to: "POST /pending-agents/reject", input: {} },
  {
    line: "agents tag --selector * --set a=b --set c=d --unset e,f --unset g",
    to: "POST /agent-tags",
    input: { node_ids: ["$node"], set: { a: "b", c: "d" }, remove: ["e", "f", "g"] },
  },
  {
    line: "agents tag web-1 --set a=b",
    to: "POST /agent-tags",
    input: { node_ids: ["$node"], set: { a: "b" } },
  },
  {
    line: "agents rename --from os.family --selector *",
    to: "POST /agent-names",
    input: { from: "os.family", node_ids: ["$node"] },
  },
  {
    line: "agents rename --file $names",
    to: "POST /agent-names",
    input: { names: [{ node_id: "$node", name: "web-01" }] },
  },
  {
    line: "agents replace web-1 $pending --force --yes",
    to: "POST /agents/$node/replace",
    input: { by: "$pending", force: true },
  },
  {
    line: "agents replace web-1 $pending --yes",
    to: "POST /agents/$node/replace",
    input: { by: "$pending" },
  },
  {
    line: "discover 127.0.0.1 --seconds 0.5",
    to: "POST /discover",
    input: { timeout_ms: 500, target: "127.0.0.1" },
  },
  { line: "discover", to: "POST /discover", input: { timeout_ms: 1500 } },
  {
    line: "enrol token --name hall --uses 3 --expires 2h --tag a=b --tag c=d",
    to: "POST /enrolment-tokens",
    input: { name: "hall", uses: 3, expires_in_seconds: 7_200, tags: { a: "b", c: "d" } },
  },
  { line: "enrol token", to: "POST /enrolment-tokens", input: {} },
  {
    line: "operators add grace abcd --role Viewer",
    to: "POST /operators",
    input: { username: "grace", public_key: "abcd", role: "Viewer" },
  },
  {
    line: "operators add grace abcd",
    to: "POST /operators",
    input: { username: "grace", public_key: "abcd", role: "Operator" },
  },
];

/** Every row. */
export const sentRows: readonly SentRow[] = [...lists, ...admissions, ...sentChanges];
