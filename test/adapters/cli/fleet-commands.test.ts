/** Commands about many agents, operators, and what was found and measured. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { systemCaller } from "fleetwright";
import { createKeyFile } from "fleetwright/client/node";
import { runIn, startSignedIn, startSocketAgent, type CommandLine } from "../../support/command-line.ts";

async function waiting(line: CommandLine, count: number): Promise<string[]> {
  const ids: string[] = [];
  for (let each = 0; each < count; each += 1) ids.push((await startSocketAgent(line)).agent.nodeId ?? "");
  return ids;
}

const statusesOf = async ({ server }: CommandLine): Promise<string[]> =>
  (await server.orchestrator.agents.list(systemCaller)).items.map(({ status }) => status);

describe("fleetwright agents approve", () => {
  it("takes several agents, and none of them where a name is given for more than one", async () => {
    const line = await startSignedIn();
    const ids = await waiting(line, 3);
    const both = await line.run("agents", "approve", ...ids.slice(0, 2), "--name", "web");
    expect(both).toMatchObject({ code: 2, stderr: expect.stringContaining("for one agent") });
    expect(await line.run("agents", "approve")).toMatchObject({ code: 2 });
    expect(await statusesOf(line)).toEqual(["pending", "pending", "pending"]);
    const told = await line.print("agents", "approve", ...ids.slice(0, 2));
    expect(told.match(/ is approved\.\n/g)).toHaveLength(2);
    expect((await statusesOf(line)).toSorted()).toEqual(["approved", "approved", "pending"]);
    expect(await line.print("agents", "reject", ids[2]!)).toContain("is rejected");
  });

  it("with --all-pending shows who waits and asks at a terminal, and nowhere else", async () => {
    const line = await startSignedIn();
    const ids = await waiting(line, 2);
    const approve = ["agents", "approve", "--all-pending"];
    const no = await runIn(line.folder, approve, line.server.url, { typed: "n\n" });
    expect(no).toMatchObject({ code: 1, stderr: expect.stringContaining("Approve these 2 agents?") });
    for (const id of ids) expect(no.stderr).toContain(id);
    expect(await statusesOf(line)).toEqual(["pending", "pending"]);
    const yes = await runIn(line.folder, approve, line.server.url, { typed: "y\n" });
    expect(yes).toMatchObject({ code: 0, stdout: "Approved: 2\n" });
    expect(await statusesOf(line)).toEqual(["approved", "approved"]);
    await waiting(line, 1);
    expect(await line.print(...approve, "--yes")).toBe("Approved: 1\n");
    expect(await line.print(...approve)).toBe("Approved: 0\n");
    expect(await line.run(...approve, ids[0]!)).toMatchObject({ code: 2 });
  });

  it("goes on where one fails, and tells that at the end", async () => {
    const line = await startSignedIn();
    const [first, second, third] = (await waiting(line, 3)) as [string, string, string];
    await line.print("agents", "approve", first, "--name", "web-1");
    const both = await line.run("agents", "approve", "gone", "web-1", second);
    expect(both).toMatchObject({ code: 1, stdout: expect.stringMatching(/^\S+ is approved\.\n$/) });
    expect(both.stderr).toMatch(
      /^fleetwright: gone: NOT_FOUND: .*\nfleetwright: web-1: INVALID_TRANSITION: .*\n$/,
    );
    expect(await line.run("agents", "reject", "--yes", "gone", third)).toMatchObject({
      code: 1,
      stdout: expect.stringContaining("is rejected."),
    });
    expect((await statusesOf(line)).toSorted()).toEqual(["approved", "approved", "rejected"]);
    const one = JSON.parse(await line.print("agents", "reject", second, "--json")) as object;
    expect(one).toMatchObject({ node_id: second, status: "rejected" });
    const several = await line.run("agents", "approve", "gone", second, third, "--json");
    expect(several.code).toBe(1);
    expect(JSON.parse(several.stdout)).toMatchObject({
      items: [
        { node_id: second, status: "approved" },
        { node_id: third, status: "approved" },
      ],
    });
    await line.print("logout");
    const out = await line.run("agents", "reject", "--yes", first, second);
    expect(out).toMatchObject({ code: 4, stdout: "" });
    expect(out.stderr).not.toContain(second);
  });

  it("with --all-pending leaves out who is gone, approved or rejected meanwhile, and says how many", async () => {
    const line = await startSignedIn();
    const [gone, approved, rejected, waits] = (await waiting(line, 4)) as [string, string, string, string];
    const { agents } = line.server.orchestrator;
    const meanwhile = async (): Promise<void> => {
      await agents.setStatus(systemCaller, { node_id: gone, status: "rejected" });
      await agents.remove(systemCaller, { node_id: gone });
      await agents.setStatus(systemCaller, { node_id: approved, status: "approved" });
      await agents.setStatus(systemCaller, { node_id: rejected, status: "rejected" });
    };
    const approve = ["agents", "approve", "--all-pending"];
    const done = await runIn(line.folder, approve, line.server.url, { typed: "y\n", meanwhile });
    expect(done).toMatchObject({
      code: 0,
      stdout: "Approved: 1\nLeft out, for they do not wait any more: 3\n",
    });
    expect(done.stderr).not.toContain("fleetwright:");
    expect(await agents.get(systemCaller, { node_id: waits })).toMatchObject({ status: "approved" });
    expect(await agents.get(systemCaller, { node_id: rejected })).toMatchObject({ status: "rejected" });
    await waiting(line, 1);
    expect(JSON.parse(await line.print(...approve, "--json"))).toEqual({
      items: [expect.objectContaining({ outcome: "changed", status: "approved" })],
      changed: 1,
      unchanged: 0,
      left_out: 0,
      failed: 0,
    });
  });
});

it("what is muted twice is sent once, and nothing named is not a mute", async () => {
  const line = await startSignedIn();
  expect(await line.run("notifications", "mute")).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("--below"),
  });
  const many = Array.from({ length: 60 }, () => "agent.*");
  for (let time = 0; time < 2; time += 1)
    expect(await line.print("notifications", "mute", ...many, "drift.*")).toContain("agent.*, drift.*\n");
  expect(await line.print("notifications", "mute", "--below", "warning")).toContain("all below warning");
});

it("an operator is shown, and gets another role", async () => {
  const line = await startSignedIn();
  const { publicKey } = createKeyFile(join(line.folder, "grace"));
  await line.print("operators", "add", "grace", publicKey, "--role", "Viewer");
  expect(await line.print("operators", "show", "grace")).toMatch(/Username +grace\nRole +Viewer\n/);
  expect(await line.print("operators", "set-role", "grace", "Operator")).toBe(
    "grace is Operator from now on.\n",
  );
  const { operator_id } = JSON.parse(await line.print("operators", "show", "grace", "--json")) as {
    operator_id: string;
  };
  expect(await line.print("operators", "show", operator_id)).toMatch(/Role +Operator\n/);
  expect(await line.run("operators", "set-role", "grace", "Root")).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("/role"),
  });
  expect(await line.run("operators", "show", "nobody")).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("NOT_FOUND"),
  });
});

it("the retention of the audit log is shown and set", async () => {
  const { print, run } = await startSignedIn();
  expect(await print("audit", "retention")).toBe("Events are kept for 90 days.\n");
  expect(await print("audit", "retention", "--days", "400")).toBe("Events are kept for 400 days.\n");
  expect(await print("audit", "retention")).toBe("Events are kept for 400 days.\n");
  expect(await print("audit", "retention", "--forever")).toBe("Every event is kept.\n");
  expect(await run("audit", "retention", "--days", "0")).toMatchObject({ code: 2 });
  expect(await run("audit", "retention", "--days", "5", "--forever")).toMatchObject({ code: 2 });
});

it("what the last drift check found is told without another one, and the checks there were are listed", async () => {
  const line = await startSignedIn();
  const { agent, root } = await startSocketAgent(line);
  await line.print("agents", "approve", agent.nodeId ?? "", "--name", "web-1");
  const content = "name: page\nresources:\n  - { id: page, type: file, path: /page, content: ours }\n";
  await runIn(line.folder, ["modules", "upload", "-"], line.server.url, content);
  await line.print("apply", "web-1", "--module", "page");
  expect(await line.run("drift", "web-1", "--last")).toMatchObject({ code: 1 });
  writeFileSync(join(root, "page"), "theirs");
  expect(await line.run("drift", "web-1")).toMatchObject({ code: 3 });
  expect(await line.run("drift", "web-1", "--last")).toMatchObject({
    code: 3,
    stdout: expect.stringMatching(/^web-1: drifted[^]*page/),
  });
  expect(await line.print("drift", "web-1", "--list")).toMatch(/ drifted +1 to change/);
  expect(await line.run("drift", "web-1", "--list", "--last")).toMatchObject({ code: 2 });
  expect(await line.print("drift", "web-1", "--list", "--limit", "1")).toContain("drifted");
  for (const other of [[], ["--last"]])
    expect(await line.run("drift", "web-1", ...other, "--limit", "3")).toMatchObject({
      code: 2,
      stdout: "",
      stderr: expect.stringContaining("--list"),
    });
});

it("the newest sample of a machine is told alone", async () => {
  const line = await startSignedIn();
  const { agent } = await startSocketAgent(line);
  await line.print("agents", "approve", agent.nodeId ?? "", "--name", "web-1");
  const told = await vi.waitFor(() => line.print("metrics", "web-1", "load", "--now"), {
    timeout: 30_000,
    interval: 300,
  });
  expect(told).toMatch(/^web-1: 2\d{3}-.*Z\nSERIES +VALUE\nload\.1 +[\d.]+\n/);
  expect(told).not.toContain("memory");
  expect(await line.run("metrics", "web-1", "--now", "--from", "1h")).toMatchObject({ code: 2 });
});
