/** Each heading of a table, and each name of a fact, has the field that it is called after: no two fields are alike here. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { runIn } from "../../support/command-line.ts";
import { recordAnswers } from "../../support/sent-requests.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const id = "01936f2a-1b2c-7000-8aaa-123456789abc";
const node = "0123456789abcdef0123456789abcdef";
const at = (second: number): string => `2030-01-01T00:00:0${second}.000Z`;

const token = {
  id,
  name: "hall",
  status: "used_up",
  used: 1,
  uses: 2,
  tags: { a: "b" },
  created_by: "ada",
  created_at: at(1),
  expires_at: at(2),
  last_used_at: at(3),
  revoked_at: at(4),
};
const window = {
  id,
  status: "active",
  mode: "mute",
  selector: "a=b",
  reason: "why",
  created_by: "ada",
  created_at: at(1),
  schedule: { cron: "@daily", time_zone: "UTC", duration_minutes: 9 },
  occurrences: [{ starts_at: at(2), ends_at: at(3) }],
};
const threshold = {
  id,
  name: "hot",
  metric: "m",
  condition: "above",
  value: 1,
  percent_of: "p",
  recovery_value: 2,
  for_seconds: 3,
  recovery_seconds: 4,
  severity: "critical",
  selector: "a=b",
  enabled: true,
  created_at: at(1),
  created_by: "ada",
};
const terminal = {
  session_id: id,
  node_id: node,
  agent_name: "web-1",
  username: "ada",
  status: "closed",
  shell: "/sh",
  opened_at: at(1),
  closed_at: at(2),
  close_reason: "exit",
  exit_code: 3,
  bytes: 4,
  viewers: 5,
  cols: 6,
  rows: 7,
  recording: "kept",
  recording_hash: "ff",
  reason: "why",
};
const secret = {
  name: "key",
  description: "for what",
  value_version: 2,
  restriction: { selector: "a=b" },
  expires_at: at(2),
  used_by: ["web"],
  updated_at: at(3),
  updated_by: "ada",
};
const agent = {
  node_id: node,
  name: "web-1",
  hostname: "host",
  status: "approved",
  connected: true,
  tags: { a: "b" },
  platform: "linux",
  agent_version: "1.0",
  remote_address: "192.0.2.1",
  approved_by: "ada",
  first_seen_at: at(1),
  connected_since: at(2),
  last_seen_at: at(3),
  modules: { web: 2 },
  last_apply: { status: "failed", finished_at: at(4) },
  drift: { status: "drifted", checked_at: at(5) },
};

interface Row {
  line: string;
  answer: object;
  /** What stands below each heading, or behind each name. */
  shows: Readonly<Record<string, string>>;
}

const tables: readonly Row[] = [
  {
    line: "enrol list",
    answer: token,
    shows: { ID: id, NAME: "hall", STATUS: "used up", USED: "1 of 2", EXPIRES: at(2), TAGS: "a=b" },
  },
  {
    line: "windows list",
    answer: window,
    shows: {
      ID: id,
      STATUS: "active",
      MODE: "mute",
      AGENTS: "a=b",
      BEGINS: at(2),
      ENDS: at(3),
      REASON: "why",
    },
  },
  {
    line: "thresholds list",
    answer: threshold,
    shows: {
      ID: id,
      NAME: "hot",
      LIMIT: "m above 1 % of p",
      FOR: "3 s",
      SEVERITY: "critical",
      AGENTS: "a=b",
    },
  },
  {
    line: "alarms",
    answer: {
      since: at(1),
      severity: "info",
      agent_name: "web-1",
      threshold: "hot",
      series: "s",
      value: 1.23456,
    },
    shows: { SINCE: at(1), SEVERITY: "info", AGENT: "web-1", THRESHOLD: "hot", SERIES: "s", VALUE: "1.235" },
  },
  {
    line: "terminal list",
    answer: terminal,
    shows: {
      SESSION: id,
      AGENT: "web-1",
      OPERATOR: "ada",
      STATUS: "closed",
      OPENED: at(1),
      ENDED: "exit",
      RECORDING: "kept",
      WHY: "why",
    },
  },
  {
    line: "secrets list",
    answer: secret,
    shows: { NAME: "key", VALUE: "version 2", FOR: "a=b", EXPIRES: at(2), "USED BY": "web" },
  },
  {
    line: "agents list",
    answer: agent,
    shows: {
      NODE: node,
      NAME: "web-1",
      HOSTNAME: "host",
      STATUS: "approved",
      CONNECTED: "yes",
      TAGS: "a=b",
      "LAST APPLY": "failed",
      DRIFT: "drifted",
      VERSION: "1.0",
      MODULES: "web@2",
    },
  },
  {
    line: "modules list",
    answer: {
      name: "web",
      revision: 2,
      resource_count: 3,
      used_by: ["all"],
      uploaded_at: at(1),
      uploaded_by: "ada",
    },
    shows: { MODULE: "web", REVISION: "2", RESOURCES: "3", "USED BY": "all", UPLOADED: at(1), BY: "ada" },
  },
  {
    line: "operators list",
    answer: { operator_id: node, username: "ada", role: "Admin", added_at: at(1), last_seen_at: at(2) },
    shows: { OPERATOR: node, USERNAME: "ada", ROLE: "Admin", ADDED: at(1), "LAST SIGN-IN": at(2) },
  },
  {
    line: "audit list",
    answer: { sequence: 1, timestamp: at(1), event_type: "a.b", actor: { name: "ada" }, summary: "done" },
    shows: { SEQUENCE: "1", TIME: at(1), EVENT: "a.b", ACTOR: "ada", SUMMARY: "done" },
  },
  {
    line: "rollouts list",
    answer: {
      rollout_id: id,
      assignment: "web",
      kind: "apply",
      status: "paused",
      batch: 1,
      batches: 2,
      counts: { succeeded: 3, timed_out: 4, failed: 0 },
      created_at: at(1),
    },
    shows: {
      ROLLOUT: id,
      WHAT: "web",
      KIND: "apply",
      STATUS: "paused",
      BATCH: "1/2",
      CREATED: at(1),
      AGENTS: "3 succeeded, 4 timed out",
    },
  },
  {
    line: "notifications list",
    answer: { id, created_at: at(1), severity: "info", read_at: null, muted: false, title: "T" },
    shows: { ID: id, TIME: at(1), SEVERITY: "info", READ: "no", TITLE: "T" },
  },
  {
    line: "notifications list",
    answer: { id, created_at: at(1), severity: "info", read_at: at(2), muted: false, title: "T" },
    shows: { ID: id, TIME: at(1), SEVERITY: "info", READ: "yes", TITLE: "T" },
  },
];

const facts: readonly Row[] = [
  {
    line: `enrol show ${id}`,
    answer: token,
    shows: {
      Id: id,
      Name: "hall",
      Status: "used up",
      Used: "1 of 2",
      Tags: "a=b",
      Expires: at(2),
      Created: `${at(1)} by ada`,
      "Last used": at(3),
      Revoked: at(4),
    },
  },
  {
    line: `windows show ${id}`,
    answer: window,
    shows: {
      Id: id,
      Reason: "why",
      Mode: "mute",
      Agents: "a=b",
      Status: "active",
      Recurs: "@daily (UTC), 9 minutes",
      When: `${at(2)} to ${at(3)}`,
      Created: `${at(1)} by ada`,
    },
  },
  {
    line: `terminal show ${id}`,
    answer: terminal,
    shows: {
      session_id: id,
      agent: "web-1",
      node_id: node,
      operator: "ada",
      status: "closed",
      why: "why",
      size: "6x7",
      shell: "/sh",
      opened: at(1),
      closed: at(2),
      "ended by": "exit",
      "exit code": "3",
      bytes: "4",
      viewers: "5",
      recording: "kept",
      "recording hash": "ff",
    },
  },
  {
    line: "secrets show key",
    answer: secret,
    shows: {
      Name: "key",
      Description: "for what",
      Value: "version 2",
      For: "a=b",
      Expires: at(2),
      "Used by": "web",
      Updated: `${at(3)} by ada`,
    },
  },
  {
    line: `agents show ${node}`,
    answer: agent,
    shows: {
      node_id: node,
      name: "web-1",
      hostname: "host",
      status: "approved",
      connected: "yes",
      platform: "linux",
      "agent version": "1.0",
      address: "192.0.2.1",
      "first seen": at(1),
      "connected since": at(2),
      "last seen": at(3),
      "approved by": "ada",
      tags: "a=b",
      "last apply": `failed, ${at(4)}`,
      drift: `drifted, ${at(5)}`,
      modules: "web@2",
    },
  },
];

async function print(line: string, answer: object, wanted = 0): Promise<string> {
  const folder = temporaryFolder();
  mkdirSync(join(folder, "home"));
  const profile = { url: "http://fleet.example", key: join(folder, "none"), token: "t" };
  writeFileSync(join(folder, "home", "profile.json"), JSON.stringify(profile));
  recordAnswers(() => Response.json(answer));
  const { code, stdout, stderr } = await runIn(folder, [...line.split(" "), "-o", "wide"]);
  expect(code, stderr).toBe(wanted);
  return stdout.trimEnd();
}

it.each(tables)("$line", async ({ line, answer, shows }) => {
  const [heading = "", row = ""] = (await print(line, { items: [answer], next_cursor: null })).split("\n");
  const cells = row.split(/ {2,}/);
  expect(Object.fromEntries(heading.split(/ {2,}/).map((name, column) => [name, cells[column]]))).toEqual(
    shows,
  );
});

it.each(facts)("$line", async ({ line, answer, shows }) => {
  const lines = (await print(line, answer)).split("\n").map((each) => each.split(/ {2,}/));
  expect(Object.fromEntries(lines)).toEqual(shows);
});

it("resume", async () => {
  const rollout = { rollout_id: id, assignment: "web", kind: "apply", status: "paused", left: 2, matched: 5 };
  const operation = {
    operation_id: id,
    kind: "apply",
    agent_name: "web-1",
    status: "queued",
    would: "begin",
  };
  const state = {
    status: "paused",
    restored_at: at(1),
    backup_at: at(2),
    epoch: { number: 3 },
    enforcing: ["all"],
    open_operations: 4,
    operations: [operation],
    rollouts: [rollout],
    missed: [{ assignment: "db", due_at: at(5) }],
  };
  const lines = (await print("resume", state, 2)).split("\n").map((each) => each.split(/ {2,}/));
  for (const line of [
    ["Restored", at(1)],
    ["Backup of", at(2)],
    ["Epoch", "3"],
    ["Enforced again", "all"],
    [id, "apply", "web-1", "queued", "begin"],
    ["... and 3 more"],
    [id, "web", "apply", "paused", "2 of 5"],
    ["db", at(5)],
  ])
    expect(lines).toContainEqual(line);
});
