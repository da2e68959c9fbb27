/** Commands about more than fits into one call: which calls they make, and what they tell where one of these fails. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { runIn, type CommandResult } from "../../support/command-line.ts";
import { recordAnswers, type SentRequest } from "../../support/sent-requests.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

interface Asked {
  limit?: string;
  cursor?: string;
  status?: string;
  name?: string;
}

/** A server with so many agents, half of which wait, that answers changes as it is told. */
function startFleet(count: number, change: (input: unknown, at: number) => Response = changeAll) {
  const agents = Array.from({ length: count }, (_, at) => ({
    node_id: at.toString(16).padStart(32, "0"),
    hostname: `host-${at}`,
    ...(at % 2 === 0 && { name: `web-${at}` }),
    status: at % 2 === 0 ? "approved" : "pending",
    tags: {},
  }));
  const changes: SentRequest[] = [];
  const sent = recordAnswers((request) => {
    if (!request.to.startsWith("GET")) return change(request.input, changes.push(request) - 1);
    const { limit = "100", cursor = "0", status, name } = request.input as Asked;
    const found = agents.filter(
      (agent) =>
        (status === undefined || agent.status === status) && (name === undefined || agent.name === name),
    );
    const end = Number(cursor) + Number(limit);
    const next_cursor = end < found.length ? String(end) : null;
    return Response.json({ items: found.slice(Number(cursor), end), next_cursor });
  });
  const folder = temporaryFolder();
  mkdirSync(join(folder, "home"));
  const profile = { url: "http://fleet.example", key: join(folder, "none"), token: "t" };
  writeFileSync(join(folder, "home", "profile.json"), JSON.stringify(profile));
  const run = (...words: string[]): Promise<CommandResult> => runIn(folder, words);
  const lists = () => sent.filter(({ to }) => to === "GET /agents").map(({ input }) => input);
  return { run, lists, changes, agents };
}

function changeAll(input: unknown): Response {
  const { node_ids } = input as { node_ids: string[] };
  const items = node_ids.map((node_id) => ({ node_id, outcome: "changed", status: "approved" }));
  return Response.json({ items });
}

function refuse(status: number, code: string): Response {
  return Response.json({ type: "about:blank", title: "No.", status, detail: "No.", code }, { status });
}

describe("a list", () => {
  it("is read page by page up to its limit, and says that there is more", async () => {
    const { run, lists } = startFleet(1_300);
    const shown = await run("agents", "list", "--limit", "700");
    expect(lists()).toEqual([{ limit: "500" }, { limit: "200", cursor: "500" }]);
    expect(shown.stdout.trimEnd().split("\n")).toHaveLength(701);
    expect(shown.stderr).toBe("There are more than 700; --limit shows more.\n");
  });

  it("says nothing beside its result to programs, whose JSON has where it goes on", async () => {
    const { run } = startFleet(1_300);
    const { stdout, stderr } = await run("agents", "list", "--limit", "700", "--json");
    const page = JSON.parse(stdout) as { items: unknown[]; next_cursor: string };
    expect([stderr, page.items.length, page.next_cursor]).toEqual(["", 700, "700"]);
    expect((await run("agents", "list", "--limit", "700", "-o", "name")).stderr).toBe("");
  });

  it.each([
    [99, 99, false],
    [100, 100, false],
    [101, 100, true],
  ])(
    "of %d shows %d where nobody says how many, and that there is more: %s",
    async (there, shown, isMore) => {
      const { run } = startFleet(there);
      const { stdout, stderr } = await run("agents", "list");
      expect(stdout.trimEnd().split("\n")).toHaveLength(shown + 1);
      expect(stderr !== "").toBe(isMore);
    },
  );
});

describe("a change of many agents", () => {
  const approve = ["agents", "approve", "--all-pending", "--yes"];
  const sizes = (changes: readonly SentRequest[]): number[] =>
    changes.map(({ input }) => (input as { node_ids: string[] }).node_ids.length);

  it("is made in calls of up to 1,000, and counted over all of them", async () => {
    const { run, lists, changes, agents } = startFleet(5_000);
    expect(await run(...approve)).toEqual({ code: 0, stdout: "Approved: 2500\n", stderr: "" });
    expect(lists()).toHaveLength(5);
    expect(sizes(changes)).toEqual([1_000, 1_000, 500]);
    const named = changes.flatMap(({ input }) => (input as { node_ids: string[] }).node_ids);
    expect(named).toEqual(agents.filter(({ name }) => name === undefined).map(({ node_id }) => node_id));
  });

  it("that fails in the middle tells what the calls before it did, and makes none after it", async () => {
    const fail = (input: unknown, at: number): Response =>
      at === 1 ? refuse(409, "CONFLICT") : changeAll(input);
    const { run, changes } = startFleet(5_000, fail);
    const told = await run(...approve);
    expect(told).toEqual({ code: 1, stdout: "Approved: 1000\n", stderr: "fleetwright: CONFLICT: No.\n" });
    expect(changes).toHaveLength(2);
    changes.length = 0;
    const { code, stdout } = await run(...approve, "--json");
    expect([code, JSON.parse(stdout)]).toEqual([1, expect.objectContaining({ changed: 1_000, failed: 0 })]);
  });

  it.each([
    [409, "CONFLICT", 1],
    [401, "UNAUTHENTICATED", 4],
  ])("that fails at once with %d prints no result", async (status, code, exit) => {
    const { run } = startFleet(10, () => refuse(status, code));
    expect(await run(...approve)).toMatchObject({ code: exit, stdout: "" });
  });

  it.each([
    [20, 20],
    [21, 1],
  ])("of %d that are named looks for them in %d calls", async (count, calls) => {
    const { run, lists, changes, agents } = startFleet(60);
    const named = agents.filter(({ name }) => name !== undefined).slice(0, count);
    const { code } = await run(
      "agents",
      "tag",
      ...named.map(({ name = "" }) => name),
      "--set",
      "a=b",
      "--yes",
    );
    expect([code, lists().length, sizes(changes)]).toEqual([0, calls, [count]]);
  });
});

describe("agents reject-pending", () => {
  it.each([
    [
      [
        [1_000, 500],
        [500, 0],
      ],
      1_500,
    ],
    // Those that are left can't be rejected: it is not asked for them again and again.
    [
      [
        [7, 3],
        [0, 3],
      ],
      7,
    ],
    [[[0, 0]], 0],
  ] as const)("goes on while there are some left: %j", async (answers, rejected) => {
    const { run, changes } = startFleet(0, (_, at) => {
      const [done, remaining] = answers[at] ?? [];
      return Response.json({ rejected: done, remaining });
    });
    const { stdout } = await run("agents", "reject-pending", "--all", "--yes");
    expect([stdout, changes.length]).toEqual([`Rejected: ${rejected}\n`, answers.length]);
  });
});

/** Commands that make one call after another, with what each call of the kind is answered with. */
const oneByOne = [
  {
    what: "modules upload",
    words: (folder: string) => ["a", "b", "c"].map((name) => join(folder, `${name}.yml`)),
    answer: (at: number) => ({ name: "abc"[at], revision: 1, created: true }),
    told: "a is now at revision 1.\n",
    about: "b.yml",
  },
  {
    what: "secrets import",
    words: (folder: string) => ["--from-env-file", join(folder, "env")],
    answer: (at: number) => ({ name: "abc"[at], value_version: 1, used_by: [] }),
    told: "a: version 1\n",
    about: "Line 2, b",
  },
];

describe.each(oneByOne)("$what, whose second call fails", ({ what, words, answer, told, about }) => {
  async function upload(failing: number, ...options: string[]): Promise<CommandResult> {
    const folder = temporaryFolder();
    for (const name of ["a", "b", "c"]) writeFileSync(join(folder, `${name}.yml`), `name: ${name}\n`);
    writeFileSync(join(folder, "env"), "A=1\nB=2\nC=3\n");
    const { run } = startFleet(0, (_, at) =>
      at === failing ? refuse(409, "CONFLICT") : Response.json(answer(at)),
    );
    return run(...what.split(" "), ...words(folder), ...options);
  }

  it("tells what is done, and of what it failed", async () => {
    const { code, stdout, stderr } = await upload(1);
    expect([code, stdout]).toEqual([1, told]);
    expect(stderr).toMatch(new RegExp(`^fleetwright: (/.*/)?${about}: CONFLICT: No.\n$`));
  });

  it("tells programs the same, in one list", async () => {
    const { code, stdout, stderr } = await upload(1, "--json");
    expect([code, JSON.parse(stdout)]).toEqual([1, [expect.objectContaining(answer(0))]]);
    expect(JSON.parse(stderr)).toMatchObject({ code: "CONFLICT", about: expect.stringMatching(about) });
  });

  it("tells no result where nothing is done", async () => {
    expect(await upload(0, "--json")).toMatchObject({ code: 1, stdout: "" });
    expect(await upload(0)).toMatchObject({ code: 1, stdout: "" });
  });
});
