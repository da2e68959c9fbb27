/** Commands about several agents: which of them they mean, what they hold the server to, and how they tell what was refused. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { runIn, type CommandResult } from "../../support/command-line.ts";
import { recordAnswers, type SentRequest } from "../../support/sent-requests.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const agents = ["approved", "pending", "rejected"].map((status, at) => ({
  node_id: String(at + 1).repeat(32),
  hostname: `host-${status}`,
  status,
  tags: {},
}));
const [approved = "", pending = "", rejected = ""] = agents.map(({ node_id }) => node_id);

type Outcome = { outcome: string; error?: { code: string; message: string } };

/** A server of an agent of each status, which answers changes of each with an outcome. */
function startServer(outcome: Outcome = { outcome: "changed" }, hostname?: string) {
  const changes: SentRequest[] = [];
  recordAnswers((request) => {
    if (!request.to.startsWith("GET")) {
      changes.push(request);
      const { node_ids } = request.input as { node_ids: string[] };
      return Response.json({ items: node_ids.map((node_id) => ({ node_id, ...outcome })) });
    }
    const { status } = request.input as { status?: string };
    const items = agents
      .filter((each) => status === undefined || each.status === status)
      .map((each) => ({ ...each, ...(hostname !== undefined && { hostname }) }));
    return Response.json({ items, next_cursor: null });
  });
  const folder = temporaryFolder();
  mkdirSync(join(folder, "home"));
  const profile = { url: "http://fleet.example", key: join(folder, "none"), token: "t" };
  writeFileSync(join(folder, "home", "profile.json"), JSON.stringify(profile));
  const run = (...words: string[]): Promise<CommandResult> =>
    runIn(folder, ["agents", ...words.join(" ").split(" "), "--yes"]);
  return { run, changes };
}

const bySelector = "--selector a=b";
const byName = `${pending} ${approved}`;

describe.each([
  // Who was rejected while somebody read the list must not be let in by it.
  ["approve", bySelector, [pending], "pending"],
  ["approve", "--all-pending", [pending], "pending"],
  ["approve", byName, [pending, approved], undefined],
  ["reject", bySelector, [approved, pending], undefined],
  // Nor is who was let in meanwhile kept out.
  ["reject", "--all-pending", [pending], "pending"],
  ["reject", byName, [pending, approved], undefined],
  ["tag --set a=b", bySelector, [approved], undefined],
  ["tag --set a=b", byName, [pending, approved], undefined],
  ["rename --from hostname", bySelector, [approved], undefined],
  ["rename --from hostname", byName, [pending, approved], undefined],
])("agents %s %s", (verb, which, meant, expected) => {
  it("changes those that are meant, as long as they stand as they did", async () => {
    const { run, changes } = startServer();
    expect(await run(verb, which)).toMatchObject({ code: 0, stderr: "" });
    expect(changes).toHaveLength(1);
    const { node_ids, expected_status } = changes[0]!.input as Record<string, unknown>;
    expect({ node_ids, expected_status }).toEqual({ node_ids: meant, expected_status: expected });
    expect(node_ids).not.toContain(rejected);
  });

  it("takes one that is gone for a fault where it was named, and else leaves it out", async () => {
    const isNamed = which === byName;
    const gone = { code: "NOT_FOUND", message: "It is gone." };
    const { run } = startServer({ outcome: "failed", error: gone });
    const { code, stdout, stderr } = await run(verb, which, "--json");
    const count = meant.length;
    expect(JSON.parse(stdout)).toMatchObject({
      failed: isNamed ? count : 0,
      left_out: isNamed ? 0 : count,
    });
    expect([code, stderr.split("\n").length - 1]).toEqual(isNamed ? [1, count] : [0, 0]);
  });

  it("takes one that somebody decided about meanwhile for a fault where it was named", async () => {
    const { run } = startServer({ outcome: "left_out" });
    expect((await run(verb, which)).code).toBe(which === byName ? 1 : 0);
  });

  it("takes any other refusal for a fault, and tells each", async () => {
    const { run } = startServer({ outcome: "failed", error: { code: "ALREADY_EXISTS", message: "No." } });
    const { code, stderr } = await run(verb, which);
    expect([code, stderr.match(/ALREADY_EXISTS: No\.\n/g)?.length]).toEqual([1, meant.length]);
  });
});

it.each([
  ["NOT_FOUND", 404],
  ["VALIDATION_FAILED", 400],
  ["INTERNAL", 500],
  ["ALREADY_EXISTS", 409],
  ["INVALID_TRANSITION", 409],
])("%s of one of many has the status that it has as the whole answer: %i", async (code, status) => {
  const { run } = startServer({ outcome: "failed", error: { code, message: "No." } });
  const { stderr } = await run("tag --set a=b", `${pending}`, "--json");
  const type = `/problems/${code.toLowerCase().replaceAll("_", "-")}`;
  expect(JSON.parse(stderr)).toMatchObject({
    code,
    status,
    type,
    detail: "No.",
    about: pending,
    exit_code: 1,
  });
});

it("tells programs that something failed in the format that they asked for", async () => {
  const refused = { outcome: "failed", error: { code: "ALREADY_EXISTS", message: "No." } };
  const told = async (...options: string[]): Promise<string> => {
    const { run } = startServer(refused);
    return (await run("tag --set a=b", pending, ...options)).stderr;
  };
  const asText = `fleetwright: ${pending}: ALREADY_EXISTS: No.\n`;
  expect(await Promise.all([told(), told("-o wide"), told("-o yaml"), told("-o name")])).toEqual(
    Array.from({ length: 4 }, () => asText),
  );
  for (const format of ["--json", "-o json"])
    expect(JSON.parse(await told(format))).toMatchObject({ status: 409 });
});

it("shows names of others so that no terminal obeys them, also where it tells what failed", async () => {
  const { run } = startServer(
    { outcome: "failed", error: { code: "IN_USE", message: "a\u001b[2Jb" } },
    "a\u001b[2J\nb",
  );
  const { stderr } = await run("tag --set a=b", bySelector);
  expect(stderr).toBe("fleetwright: a\\u{1b}[2J\\nb: IN_USE: a\\u{1b}[2Jb\n");
});

it.each([
  [401, "UNAUTHENTICATED", 4],
  [403, "FORBIDDEN", 1],
  [500, "INTERNAL", 1],
])("looks for no other agent where the first is refused with %d %s", async (status, code, exit) => {
  const problem = { type: "about:blank", title: "No.", status, detail: "No.", code };
  const sent = recordAnswers(() => Response.json(problem, { status }));
  const folder = temporaryFolder();
  const words = ["agents", "tag", "a", "b", "c", "--set", "d=e", "--yes"];
  const told = await runIn(folder, words, "http://fleet.example");
  expect(told).toMatchObject({ code: exit, stdout: "" });
  expect(told.stderr.match(/fleetwright:/g)).toHaveLength(1);
  expect(sent).toHaveLength(1);
});
