/** What a rollout is bound to that somebody agreed to, and what is told of the agents that are in none of its groups. */
import { expect, test } from "vitest";
import { runIn } from "../../support/command-line.ts";
import { recordAnswers } from "../../support/sent-requests.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";
import { waitFor } from "../../support/wait-for.ts";

const id = "01936f2a-1b2c-7000-8000-000000000001";
const nobody = { changed: 0, unchanged: 0, failed: 0, stale: 0, cancelled: 0, unknown: 0, removing: 0 };
const nothing = { total: 0, unchanged: 0, changed: 0, would_change: 0, unknown: 0, removed: 0, failed: 0 };

interface Group {
  count: number;
  removed?: number;
  /** Whether it failed, and its plan tells nothing. */
  isDark?: boolean;
}

function toGroup({ count, removed = 0, isDark = false }: Group) {
  return {
    count,
    agents: [{ name: "web-1", node_id: "0", operation_id: id }],
    outcome: isDark ? "failed" : "changed",
    status: isDark ? "failed" : "succeeded",
    ...(isDark && { error: { code: "AGENT_OFFLINE", message: "Away." } }),
    counts: { ...nothing, removed, would_change: removed },
    resources: [],
    truncated: false,
  };
}

/** A rollout that has ended, of these groups. */
function toRollout(groups: readonly Group[], kind = "plan") {
  const matched = groups.reduce((sum, { count }) => sum + count, 0);
  const removing = groups.filter(({ removed = 0 }) => removed > 0).length;
  const failed = groups.filter(({ isDark }) => isDark).reduce((sum, { count }) => sum + count, 0);
  const removed = groups.reduce((sum, each) => sum + (each.removed ?? 0) * each.count, 0);
  const resources = { ...nothing, total: removed, removed, would_change: removed };
  return {
    rollout_id: id,
    assignment: "web",
    kind,
    status: "succeeded",
    rollout: {},
    matched,
    counts: { succeeded: matched - failed, failed },
    recap: { ...nobody, changed: matched - failed, failed, removing, resources },
    finished_at: "2030-01-01T00:00:00.000Z",
  };
}

/** Applies an assignment whose plan comes to these groups; resolves with what is asked, and what is sent after a yes. */
async function apply(
  groups: readonly Group[],
  { words = [], bound }: { words?: string[]; bound?: number } = {},
) {
  const sent = recordAnswers(({ to }) => {
    if (to.endsWith("/changes")) return Response.json({ items: groups.map(toGroup), next_cursor: null });
    if (to === "GET /assignments/web")
      return Response.json({ name: "web", ...(bound !== undefined && { rollout: { max_removals: bound } }) });
    return Response.json(toRollout(groups, to.endsWith("/apply") ? "apply" : "plan"));
  });
  const line = ["assignments", "apply", "web", ...words];
  const { stderr } = await runIn(temporaryFolder(), line, "http://fleet.example", { typed: "y" });
  const applied = sent.find(({ to }) => to === "POST /assignments/web/apply")?.input;
  const { max_removals } = (applied as { rollout: { max_removals: number } }).rollout;
  return {
    question: /^Apply .*\?/m.exec(stderr)?.[0],
    dark: /\d+ agents? could not .*/.exec(stderr)?.[0],
    max_removals,
  };
}

test.each<[string, Group[], Parameters<typeof apply>[1], Partial<Awaited<ReturnType<typeof apply>>>]>([
  ["nothing goes", [{ count: 2 }], {}, { question: "Apply on 2 agents?", max_removals: 0 }],
  ["one agent loses nothing", [{ count: 1 }], {}, { question: undefined, max_removals: 0 }],
  [
    "one agent loses something",
    [{ count: 1, removed: 2 }],
    {},
    { question: "Apply on 1 agent and remove 2 resources?", max_removals: 2 },
  ],
  [
    "groups lose more and less",
    [
      { count: 3, removed: 2 },
      { count: 1, removed: 5 },
      { count: 1, removed: 1 },
    ],
    {},
    { question: "Apply on 5 agents and remove 12 resources on 3 of them?", max_removals: 5 },
  ],
  ["the assignment allows less", [{ count: 2, removed: 5 }], { bound: 3 }, { max_removals: 3 }],
  ["the assignment allows more", [{ count: 2, removed: 5 }], { bound: 9 }, { max_removals: 5 }],
  ["the assignment allows none", [{ count: 2, removed: 5 }], { bound: 0 }, { max_removals: 0 }],
  [
    "the call allows less than the assignment",
    [{ count: 2, removed: 5 }],
    { bound: 9, words: ["--max-removals", "1"] },
    { max_removals: 1 },
  ],
  [
    "some can't be planned on",
    [
      { count: 2, removed: 5 },
      { count: 3, isDark: true },
    ],
    {},
    { dark: "3 agents could not be planned on; an apply there removes no more than 5", max_removals: 5 },
  ],
  [
    "the only one can't be planned on",
    [{ count: 1, isDark: true }],
    {},
    {
      question: undefined,
      dark: "1 agent could not be planned on; an apply there removes nothing",
      max_removals: 0,
    },
  ],
])(
  "where %s no agent may lose more than the one that was seen to lose most",
  async (_, groups, how, wanted) => {
    expect(await apply(groups, how)).toMatchObject(wanted);
  },
);

test.each(["changed", "unchanged", "failed", "stale", "cancelled", "unknown"])(
  "agents that %s count among those of further groups",
  async (ended) => {
    const groups = Array.from({ length: 50 }, () => ({ count: 1 }));
    const rollout = {
      ...toRollout(groups),
      matched: 90,
      recap: { ...nobody, [ended]: 57, removing: 3, resources: nothing },
    };
    for (const next_cursor of ["more", null]) {
      recordAnswers(({ to }) =>
        Response.json(to.endsWith("/changes") ? { items: groups.map(toGroup), next_cursor } : rollout),
      );
      const line = ["rollouts", "watch", id, "--json"];
      const { stdout } = await runIn(temporaryFolder(), line, "http://fleet.example");
      expect(JSON.parse(stdout)).toMatchObject({ further: next_cursor === null ? 0 : 7 });
    }
  },
);

test.each([
  ["succeeded", 0],
  ["failed", 1],
])("a command that %s by itself is ended on no machine", async (status, code) => {
  const run = {
    rollout_id: id,
    kind: "run",
    status,
    matched: 1,
    counts: { [status]: 1 },
    groups: [],
    ungrouped: 0,
  };
  const sent = recordAnswers(() => Response.json(run));
  const told = await runIn(temporaryFolder(), ["run", "--on", "a=b", "--", "uptime"], "http://fleet.example");
  expect(told).toMatchObject({ code, stderr: "" });
  expect(sent.map(({ to }) => to)).toEqual(["POST /state/runs"]);
});

test.each([
  [{ matched: 5, ungrouped: 2, groups: [3] }, [], "2 agents ended in other ways still."],
  [
    { matched: 6, ungrouped: 2, groups: [2, 1] },
    ["1 agent: not begun"],
    "2 agents ended in other ways still.",
  ],
  [{ matched: 5, ungrouped: 0, groups: [3] }, ["2 agents: not begun"], undefined],
  [{ matched: 3, ungrouped: 0, groups: [3] }, [], undefined],
])(
  "of a run of %j those that were not begun are told apart from the others",
  async (counts, left, others) => {
    const { matched, ungrouped } = counts;
    const groups = counts.groups.map((count) => ({
      count,
      agents: [{ name: "a" }],
      status: "failed",
      output: [],
    }));
    const run = { rollout_id: id, kind: "run", status: "failed", matched, counts: {}, groups, ungrouped };
    recordAnswers(() => Response.json(run));
    const { stdout } = await runIn(temporaryFolder(), ["runs", "show", id], "http://fleet.example");
    expect(stdout.match(/^\d+ agents?: .*$/gm) ?? []).toEqual(left);
    expect(/^.* in other ways still\.$/m.exec(stdout)?.[0]).toBe(others);
  },
);

test("a command runs on no machine where one that was named is none", async () => {
  const sent = recordAnswers(({ to, input }) => {
    if (to.startsWith("POST")) return Response.json({});
    const { name } = input as { name?: string };
    const items =
      name === "web-1" ? [{ node_id: "1".repeat(32), name, hostname: "h", status: "approved" }] : [];
    return Response.json({ items, next_cursor: null });
  });
  const line = ["run", "--agent", "web-1", "--agent", "wbe-2", "--", "reboot"];
  const told = await runIn(temporaryFolder(), line, "http://fleet.example");
  expect(told).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('There is no agent "wbe-2".') as string,
  });
  expect(sent.filter(({ to }) => to.startsWith("POST"))).toEqual([]);
});

test("who watches sees the end of a rollout, though the server was gone when it was asked for it", async () => {
  const running = { ...toRollout([{ count: 1 }], "apply"), status: "running", finished_at: undefined };
  let opened = 0;
  let isGone = false;
  let looks = 0;
  const event = (item: object): string => `id: 1\ndata: ${JSON.stringify(item)}\n\n`;
  recordAnswers(({ to }) => {
    if (to.endsWith("/changes")) return Response.json({ items: [], next_cursor: null });
    if (to !== "GET /events") {
      if (isGone) throw new TypeError("fetch failed");
      looks += 1;
      return Response.json(opened < 2 ? running : toRollout([{ count: 1 }], "apply"));
    }
    opened += 1;
    const type = "rollout.finished";
    const finished = { type: "event", event: { event_type: type, summary: "x" } };
    isGone = false;
    const first = new ReadableStream<Uint8Array>(
      {
        start: (controller) => controller.enqueue(Buffer.from(event({ type: "position" }))),
        async pull(controller) {
          // Once the rollout was looked at behind the first item.
          await waitFor(() => expect(looks).toBeGreaterThan(1));
          isGone = true;
          controller.enqueue(Buffer.from(event(finished)));
          controller.close();
        },
      },
      { highWaterMark: 0 },
    );
    if (opened === 1) return new Response(first);
    if (opened === 2) return new Response(event({ type: "position" }));
    return Response.json(
      { code: "NOT_FOUND", status: 404, detail: "Enough.", title: "Enough." },
      { status: 404 },
    );
  });
  const told = await runIn(temporaryFolder(), ["rollouts", "watch", id], "http://fleet.example");
  expect(told).toMatchObject({
    code: 0,
    stdout: expect.stringContaining("apply succeeded on 1 of 1 agent") as string,
  });
});
