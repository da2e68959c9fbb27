/** Command lines that change what is declared, told and measured, and the request that each comes to. */
import type { SentRow } from "./sent-rows.ts";

const strategyLine =
  "--batch 10% --max-failures 2 --canary 1 --pause 30 --group-by rack --order shuffled --max-removals 4 --queue-offline";
const strategy = {
  batch: "10%",
  max_failures: 2,
  canary: 1,
  pause_seconds: 30,
  group_by: "rack",
  order: "shuffled",
  max_removals: 4,
  when_offline: "queue",
};
const fieldsLine = "--description why --param port=80 --schedule @daily --time-zone Europe/Berlin";
const fields = {
  description: "why",
  params: { port: 80 },
  schedule: { cron: "@daily", time_zone: "Europe/Berlin" },
};
const limitsLine =
  "--percent-of b --recover-at 8.5 --for 60 --recover-after 30 --severity critical --selector role=web";
const limits = {
  percent_of: "b",
  recovery_value: 8.5,
  for_seconds: 60,
  recovery_seconds: 30,
  severity: "critical",
  selector: "role=web",
};
const shownLine = "--set port=1 --event a.b,c.* --event d.e --min-severity warning --selector role=web";
const shown = { events: ["a.b", "c.*", "d.e"], min_severity: "warning", selector: "role=web" };

/** What is declared, and what is done with it. */
const works: readonly SentRow[] = [
  {
    line: `assignments create web --selector role=web --module a,b --module c@3 ${fieldsLine} --enforce --unattended-removals ${strategyLine}`,
    to: "POST /assignments",
    input: {
      name: "web",
      selector: "role=web",
      modules: ["a", "b", "c@3"],
      ...fields,
      enforce: true,
      unattended_removals: true,
      rollout: strategy,
    },
  },
  {
    line: `assignments update motd --selector role=db --module a ${fieldsLine} --enforce --unattended-removals ${strategyLine}`,
    to: "PUT /assignments/motd",
    input: {
      selector: "role=db",
      modules: ["a"],
      ...fields,
      enforce: true,
      unattended_removals: true,
      rollout: strategy,
    },
  },
  {
    line: "assignments update motd --no-schedule --no-enforce --no-unattended-removals",
    to: "PUT /assignments/motd",
    input: { schedule: null, enforce: false, unattended_removals: false },
  },
  {
    line: "assignments update motd --batch 5",
    to: "PUT /assignments/motd",
    input: { rollout: { batch: 5 } },
  },
  {
    line: `assignments apply motd --plan $rollout --override-window ${strategyLine}`,
    to: "POST /assignments/motd/apply",
    input: {
      wait_seconds: 0,
      show_agents: 0,
      plan_rollout_id: "$rollout",
      override_window: true,
      rollout: strategy,
    },
  },
  {
    line: "assignments apply motd",
    to: "POST /assignments/motd/apply",
    input: { wait_seconds: 0, show_agents: 0 },
  },
  {
    line: "assignments plan motd",
    to: "POST /assignments/motd/plan",
    input: { wait_seconds: 0, show_agents: 0 },
  },
  {
    line: "plan web-1 --module a,b@2 --remove-module c --param port=80 --param name=x --timeout 60 --queue",
    to: "POST /agents/$node/plan",
    input: {
      modules: ["a", "b@2"],
      remove_modules: ["c"],
      params: { port: 80, name: "x" },
      timeout_seconds: 60,
      when_offline: "queue",
      wait_seconds: 0,
    },
  },
  {
    line: "apply web-1 --module a --remove-module c --param port=80 --timeout 60 --queue --allow-empty --max-removals 0 --override-window",
    to: "POST /agents/$node/apply",
    input: {
      modules: ["a"],
      remove_modules: ["c"],
      params: { port: 80 },
      timeout_seconds: 60,
      when_offline: "queue",
      allow_empty: true,
      max_removals: 0,
      override_window: true,
      wait_seconds: 0,
    },
  },
  {
    line: "apply --plan $operation",
    to: "POST /agents/$node/apply",
    input: { plan_id: "$operation", wait_seconds: 0 },
  },
  { line: "drift web-1", to: "POST /agents/$node/drift", input: { wait_seconds: 0 } },
  {
    line: "state forget web-1 motd a/b",
    to: "POST /agents/$node/state/forget",
    input: { resources: ["motd", "a/b"], wait_seconds: 30 },
  },
  {
    line: "state forget web-1 motd --no-wait",
    to: "POST /agents/$node/state/forget",
    input: { resources: ["motd"], wait_seconds: 0 },
  },
  {
    line: `run --on role=web --user app --cwd /srv --env A=b --env C=d=e --timeout 9 --override-window ${strategyLine} -- echo hi`,
    to: "POST /state/runs",
    input: {
      selector: "role=web",
      command: ["echo", "hi"],
      user: "app",
      cwd: "/srv",
      environment: { A: "b", C: "d=e" },
      timeout_seconds: 9,
      override_window: true,
      rollout: strategy,
      wait_seconds: 0,
    },
  },
  {
    line: "run --agent web-1 --script - --interpreter /bin/sh·-e",
    to: "POST /state/runs",
    input: { node_ids: ["$node"], script: "echo hi\n", interpreter: ["/bin/sh", "-e"], wait_seconds: 0 },
    typed: "echo hi\n",
  },
  {
    line: "secrets set key --file $value --base64 --description why --selector role=web --node n1 n2 --expires 2030-01-01T00:00:00Z",
    to: "PUT /secrets/key",
    input: {
      value: "c2VjcmV0",
      encoding: "base64",
      description: "why",
      restriction: { selector: "role=web", node_ids: ["n1", "n2"] },
      expires_at: "2030-01-01T00:00:00Z",
    },
  },
  {
    line: "secrets set key --unrestricted --expires never",
    to: "PUT /secrets/key",
    input: { value: "v", restriction: null, expires_at: null },
    typed: "v\n",
  },
  {
    line: "secrets import --from-env-file - --prefix app-",
    to: "PUT /secrets/app-db-key",
    input: { value: "v" },
    typed: "DB_KEY=v\n",
  },
];

/** What is told and measured, and when not. */
const told: readonly SentRow[] = [
  {
    line: `thresholds create Full --metric a --above 9.5 ${limitsLine}`,
    to: "POST /thresholds",
    input: { name: "Full", metric: "a", condition: "above", value: 9.5, ...limits },
  },
  {
    line: "thresholds create Full --metric a --below -1",
    to: "POST /thresholds",
    input: { name: "Full", metric: "a", condition: "below", value: -1 },
  },
  {
    line: `thresholds update hot --name warm --metric a --above 9.5 ${limitsLine} --enable`,
    to: "PUT /thresholds/$threshold",
    input: { name: "warm", metric: "a", condition: "above", value: 9.5, ...limits, enabled: true },
  },
  {
    line: "thresholds update hot --below 3 --whole-fleet --no-percent-of --no-recover-at --disable",
    to: "PUT /thresholds/$threshold",
    input: {
      condition: "below",
      value: 3,
      selector: null,
      percent_of: null,
      recovery_value: null,
      enabled: false,
    },
  },
  {
    line: "windows create --reason why --mode freeze --selector role=web --from 2030-01-01T00:00:00Z --for 2h",
    to: "POST /maintenance-windows",
    input: {
      reason: "why",
      mode: "freeze",
      selector: "role=web",
      starts_at: "2030-01-01T00:00:00Z",
      ends_at: "2030-01-01T02:00:00.000Z",
    },
  },
  {
    line: "windows create --reason why --mode mute --until 2030-01-01T00:00:00Z --cron @daily --duration 90 --time-zone Europe/Berlin",
    to: "POST /maintenance-windows",
    input: {
      reason: "why",
      mode: "mute",
      ends_at: "2030-01-01T00:00:00Z",
      schedule: { cron: "@daily", duration_minutes: 90, time_zone: "Europe/Berlin" },
    },
  },
  {
    line: "windows update $window --reason why --mode freeze --selector role=web --from 2030-01-01T00:00:00Z --for 2d --cron @daily --duration 90 --time-zone Europe/Berlin",
    to: "PUT /maintenance-windows/$window",
    input: {
      reason: "why",
      mode: "freeze",
      selector: "role=web",
      starts_at: "2030-01-01T00:00:00Z",
      ends_at: "2030-01-03T00:00:00.000Z",
      schedule: { cron: "@daily", duration_minutes: 90, time_zone: "Europe/Berlin" },
    },
  },
  {
    line: "windows create --reason why --mode freeze --for 2h",
    to: "POST /maintenance-windows",
    input: { reason: "why", mode: "freeze", ends_in_seconds: 7_200 },
  },
  {
    line: "windows update $window --for 30m",
    to: "PUT /maintenance-windows/$window",
    input: { ends_in_seconds: 1_800 },
  },
  {
    line: "windows update $window --whole-fleet --until 2030-01-01T00:00:00Z",
    to: "PUT /maintenance-windows/$window",
    input: { selector: null, ends_at: "2030-01-01T00:00:00Z" },
  },
  {
    line: "windows update $window --endless",
    to: "PUT /maintenance-windows/$window",
    input: { ends_at: null },
  },
  { line: "windows end $window", to: "PUT /maintenance-windows/$window", input: { end_occurrence: true } },
  {
    line: "notifications mute a.* --below critical",
    to: "PUT /notifications/preferences",
    input: { muted_events: ["a.*"], min_severity: "critical" },
  },
  {
    line: `channels create hook --type webhook --audit --config - ${shownLine} --title T --body B --disable`,
    to: "POST /channels",
    input: {
      name: "hook",
      type: "webhook",
      config: { url: "u", port: 1 },
      ...shown,
      template: { title: "T", body: "B" },
      source: "audit",
      enabled: false,
    },
    typed: '{"url":"u","port":2}',
  },
  {
    line: `channels update ops --name other --config - ${shownLine} --title T --enable`,
    to: "PUT /channels/$channel",
    input: {
      name: "other",
      config: { url: "u", port: 1 },
      ...shown,
      template: { title: "T" },
      enabled: true,
    },
    typed: '{"url":"u","port":2}',
  },
  {
    line: "channels update ops --all-agents --plain-words --body B --disable",
    to: "PUT /channels/$channel",
    input: { selector: null, template: null, enabled: false },
  },
  { line: "audit retention --days 3 --yes", to: "PUT /audit/retention", input: { retention_days: 3 } },
  { line: "audit retention --forever", to: "PUT /audit/retention", input: { retention_days: null } },
];

/** All of them. */
export const sentChanges: readonly SentRow[] = [...works, ...told];
