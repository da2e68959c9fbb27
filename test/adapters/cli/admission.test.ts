/** Several agents at once from the command line, and one in the place of another. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { systemCaller } from "fleetwright";
import { runIn, startSignedIn, startSocketAgent, type CommandLine } from "../../support/command-line.ts";

interface Fleet {
  line: CommandLine;
  ids: string[];
  /** What somebody at a terminal types. */
  typing: (typed: string, ...args: string[]) => ReturnType<CommandLine["run"]>;
}

/** Approved machines, `web-1` and so on, with the tag `role=web`; the last one waits where that is said. */
async function fleetOf(count: number): Promise<Fleet> {
  const line = await startSignedIn();
  const ids: string[] = [];
  const { agents } = line.server.orchestrator;
  for (let at = 1; at <= count; at += 1) {
    const { agent } = await startSocketAgent(line);
    const node_id = agent.nodeId ?? "";
    await agents.setStatus(systemCaller, { node_id, status: "approved", name: `web-${at}` });
    await agents.tags.set(systemCaller, { node_id, key: "role", value: "web" });
    ids.push(node_id);
  }
  const typing: Fleet["typing"] = (typed, ...args) => runIn(line.folder, args, line.server.url, { typed });
  return { line, ids, typing };
}

it("agents tag sets and takes away by name, short id and selector, asks before several, and says what was so already", async () => {
  const { line, ids, typing } = await fleetOf(2);
  const no = await typing("n\n", "agents", "tag", "--selector", "role=web", "--set", "env=prod");
  expect(no).toMatchObject({ code: 1, stderr: expect.stringContaining("these 2 agents?") as string });
  for (const id of ids) expect(no.stderr).toContain(id);
  const yes = await typing("y\n", "agents", "tag", "--selector", "role=web", "--set", "env=prod");
  expect(yes).toMatchObject({ code: 0, stdout: "Changed: 2\nAs they were: 0\n" });
  // One is no question; scripts are never held up.
  const one = await typing("n\n", "agents", "tag", "web-1", "--set", "env=prod", "--unset", "role");
  expect(one).toMatchObject({ code: 0, stdout: "Changed: 1\nAs they were: 0\n" });
  const json = await line.run(
    "agents",
    "tag",
    ids[0]!.slice(0, 8),
    "web-2",
    "nobody",
    "--set",
    "env=prod",
    "--json",
  );
  expect(json.code).toBe(1);
  expect(JSON.parse(json.stdout)).toMatchObject({ changed: 0, unchanged: 2, failed: 0, items: [{}, {}] });
  expect(json.stderr).toContain("nobody");
  for (const args of [["web-1"], ["--set", "a=b"], ["web-1", "--selector", "*", "--set", "a=b"]])
    expect(await line.run("agents", "tag", ...args)).toMatchObject({ code: 2 });
});

it("a selector that matches nothing is said, and an empty one means nobody", async () => {
  const { line } = await fleetOf(1);
  for (const verb of [
    ["approve"],
    ["reject", "--yes"],
    ["tag", "--set", "a=b"],
    ["rename", "--from", "hostname"],
  ]) {
    const none = await line.run("agents", ...verb, "--selector", "role=none");
    expect(none).toMatchObject({ code: 1, stdout: "", stderr: expect.stringContaining("matches no agent") });
    const empty = await line.run("agents", ...verb, "--selector", "");
    expect(empty).toMatchObject({ code: 1, stdout: "", stderr: expect.stringContaining("SELECTOR_INVALID") });
  }
  const approved = await line.run("agents", "approve", "--selector", "role=web");
  expect(approved).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("none is one that this is for"),
  });
  expect(JSON.parse(await line.print("agents", "show", "web-1", "--json"))).toMatchObject({
    name: "web-1",
    status: "approved",
    tags: { role: "web" },
  });
});

it("agents reject takes a selector, tells how many, and asks before several", async () => {
  const { line, typing } = await fleetOf(2);
  const script = await line.run("agents", "reject", "--selector", "role=web");
  expect(script).toMatchObject({ code: 2, stderr: expect.stringContaining("say --yes") as string });
  expect(await typing("n\n", "agents", "reject", "--selector", "role=web")).toMatchObject({ code: 1 });
  const done = await typing("y\n", "agents", "reject", "--selector", "role=web");
  expect(done).toMatchObject({ code: 0, stdout: "Rejected: 2\n" });
  await startSocketAgent(line);
  expect(await line.print("agents", "reject", "--all-pending", "--yes")).toBe("Rejected: 1\n");
});

it("many are changed in few calls: what was named is looked up in the list", async () => {
  const { line, ids } = await fleetOf(1);
  const gone = Array.from({ length: 1_500 }, (_, at) => at.toString(16).padStart(32, "0"));
  const calls = vi.spyOn(globalThis, "fetch");
  const { code, stdout } = await line.run("agents", "tag", ...gone, ids[0]!, "--set", "a=b", "--json");
  expect(code).toBe(1);
  expect(JSON.parse(stdout)).toMatchObject({ changed: 1, failed: 1_500 });
  expect(calls.mock.calls.length).toBe(2);
  calls.mockRestore();
});

describe("agents rename", () => {
  it("renames one, many after their hostnames, and many from a file; a taken name is told with both", async () => {
    const { line, ids, typing } = await fleetOf(2);
    expect(await line.print("agents", "rename", "web-1", "db-1")).toBe("web-1 is named db-1.\n");
    const taken = await line.run("agents", "rename", "db-1", "WEB-2");
    expect(taken).toMatchObject({ code: 1, stderr: expect.stringContaining("ALREADY_EXISTS") as string });
    for (const id of ids) expect(taken.stderr).toContain(id);
    const file = join(line.folder, "names");
    writeFileSync(file, `# our names\n\ndb-1 web-2\r\nweb-2\tweb-3\n`);
    expect(await typing("n\n", "agents", "rename", "--file", file)).toMatchObject({ code: 1 });
    const renamed = await line.print("agents", "rename", "--file", file);
    expect(renamed).toContain("db-1 is named web-2.\n");
    expect(renamed).toContain("Renamed: 2\n");
    const hostname = (
      JSON.parse(await line.print("agents", "show", "web-2", "--json")) as { hostname: string }
    ).hostname;
    // Both are this machine: one gets its name, and the other is told who has it.
    const after = await line.run("agents", "rename", "--selector", "role=web", "--from", "hostname");
    expect(after.code).toBe(1);
    expect(after.stdout).toContain("Renamed: 1\n");
    expect(after.stderr).toContain("ALREADY_EXISTS");
    expect(hostname).not.toBe("");
  });

  it("changes nothing where a line of the file, or the usage, is wrong", async () => {
    const { line } = await fleetOf(2);
    const file = join(line.folder, "names");
    for (const [text, code] of [
      ["", 2],
      ["web-1\n", 2],
      ["web-1 a b\n", 2],
      ["web-1 a\nweb-1 b\n", 2],
      ["web-1 a\nnobody b\n", 1],
    ] as const) {
      writeFileSync(file, text);
      expect((await line.run("agents", "rename", "--file", file)).code, text).toBe(code);
    }
    for (const args of [[], ["web-1"], ["web-1", "a", "b"], ["--selector", "*"], ["web-1", "--file", file]])
      expect((await line.run("agents", "rename", ...args)).code).toBe(2);
    const evil = await line.run("agents", "rename", "web-1", "a\u001b[2J");
    expect(evil.code).toBe(1);
    expect(evil.stderr).not.toContain("\u001b");
    expect(await line.print("agents", "list", "--search", "web-")).toContain("web-1");
  });
});

it("agents replace has a new agent take the place of an old one, once somebody agreed", async () => {
  const { line, ids, typing } = await fleetOf(1);
  const { agent } = await startSocketAgent(line);
  const fresh = agent.nodeId ?? "";
  expect(await line.run("agents", "replace", "web-1", fresh)).toMatchObject({ code: 2 });
  expect(await typing("n\n", "agents", "replace", "web-1", fresh)).toMatchObject({ code: 1 });
  const running = await line.run("agents", "replace", "web-1", fresh, "--yes");
  expect(running).toMatchObject({ code: 1, stderr: expect.stringContaining("is connected") as string });
  expect(await line.run("agents", "replace", "web-1", ids[0]!, "--yes", "--force")).toMatchObject({
    code: 2,
  });
  const done = await typing("y\n", "agents", "replace", "web-1", fresh.slice(0, 8), "--force");
  expect(done).toMatchObject({ code: 0, stdout: `web-1 is ${fresh} from now on.\n` });
  expect(done.stderr).toContain(ids[0]);
  expect(await line.print("agents", "show", ids[0]!)).toMatch(new RegExp(`replaced by +${fresh}`));
  const refused = await line.run("agents", "approve", ids[0]!);
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining("INVALID_TRANSITION") as string });
});
