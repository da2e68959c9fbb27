/** Whatever a server answers, and whoever wrote what it tells: nothing of it acts on the terminal. */
import { expect, it } from "vitest";
import { runIn } from "../../support/command-line.ts";
import { outputCalls } from "../../support/output-calls.ts";
import { recordRequests } from "../../support/sent-requests.ts";
import { sentRows } from "../../support/sent-rows.ts";
import { startSentScene } from "../../support/sent-scene.ts";

/** Erases the screen in two ways, goes back to the beginning of the line, and turns the direction of writing. */
const evil = "\u001b[2J\u009b2J\r\u202e";

/** What commands go on with: without it they would end before they print anything. */
const kept = /^(next_cursor|outcome|type|kind|.*id|.*_at|.*hash|signature|public_key|content|at)$/;

/** An answer in which every text ends with what a terminal would obey, those of keys too. */
function poison(value: unknown, name = ""): unknown {
  if (typeof value === "string") return kept.test(name) ? value : value + evil;
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((each) => poison(each, name));
  const entries = Object.entries(value);
  return Object.fromEntries(entries.map(([key, inside]) => [key, poison(inside, key)]));
}

/** What the answers to all changes have in them. */
const changed = {
  ...Object.fromEntries(
    [
      "id name status username role title description metric condition severity reason mode selector type",
      "source error min_severity value_version updated_at updated_by matches created_at created_by token",
      "expires_at node_id revision key_id",
    ]
      .flatMap((names) => names.split(" "))
      .map((name) => [name, evil]),
  ),
  items: [{ outcome: "changed", node_id: evil, name: evil, status: evil }],
  ...Object.fromEntries(["config", "template", "tags", "attributes"].map((name) => [name, { [evil]: evil }])),
  ...Object.fromEntries(["events", "used_by", "muted_events", "sent_to"].map((name) => [name, [evil]])),
  occurrences: [{ starts_at: evil, ends_at: evil }],
  schedule: { cron: evil, time_zone: evil, duration_minutes: 1 },
  responses: [{ node_id: evil, hostname: evil, address: evil, agent_version: evil, approval_status: evil }],
  value: 1,
  for_seconds: 1,
  recovery_seconds: 1,
  retention_days: 3,
  rejected: 0,
  remaining: 0,
  rewrapped: 1,
  used: 0,
  uses: 1,
  enabled: true,
  created: true,
  delivered: false,
};

/** Commands that change something and stand in no other table. */
const others = [
  "channels test $channel",
  "channels deliveries $channel",
  "channels remove $channel --yes",
  "thresholds remove $threshold --yes",
  "windows remove $window --yes",
  "modules upload $file",
  "operators set-role $operator Viewer",
  "operators remove $operator --yes",
  "tags set web-1 a=b",
  "secrets rotate-key",
  "rollouts pause $rollout",
  "rollouts resume $rollout",
  "rollouts cancel $rollout",
  "operations cancel $operation",
  "agents remove web-1 --yes",
];

/** Those that no server is asked by, and the one that follows what never ends here. */
const left = /^(local|modules (check|schema)|init|use|login|rollouts watch|operations watch)/;

it("nothing that a command prints acts on the terminal, whatever it is answered", async () => {
  const { scene, wordsOf } = await startSentScene();
  const lines = [
    ...Object.values(outputCalls).map((line) => ({ line, typed: undefined })),
    ...sentRows.map(({ line, typed }) => ({ line, typed })),
    ...others.map((line) => ({ line, typed: undefined })),
  ].filter(({ line }) => !left.test(line));
  recordRequests({ read: (answer) => poison(answer), write: () => Response.json(changed) });
  const faults: Record<string, string> = {};
  for (const { line, typed } of lines) {
    const words = wordsOf(line);
    const { stdout, stderr } = await runIn(scene.folder, words, scene.server.url, typed ?? "");
    const printed = stdout + stderr;
    if (/[^\P{C}\n\t]/u.test(printed)) faults[line] = printed.slice(0, 300);
  }
  expect(faults).toEqual({});
}, 240_000);
