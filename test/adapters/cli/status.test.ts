/** The fleet in one look on the command line: `status`, `drift` without an agent, and the filters of `agents list`. */
import { expect, it } from "vitest";
import { systemCaller } from "fleetwright";
import { startCommandLine, startSignedIn, startSocketAgent } from "../../support/command-line.ts";
import { MemorySecretsKey } from "../../support/secrets-key.ts";

it("status says what needs somebody and the command that shows it, and that command works", async () => {
  const line = await startSignedIn();
  const { print } = line;
  expect(await print("status")).toMatch(/agents +0 approved[^]*Nothing needs you\./);
  const { agent: waiting } = await startSocketAgent(line);
  const status = await print("status");
  expect(status).toMatch(/info +1 +agents waiting for approval +\S+ +agents list --status pending/);
  const see = /agents list --status pending/.exec(status)![0];
  expect(await print(...see.split(" "), "-o", "name")).toContain(waiting.nodeId!);
  const { summary } = JSON.parse(await print("--json", "status")) as { summary: { agents: object } };
  expect(summary.agents).toMatchObject({ pending: 1, approved: 0 });
});

it("agents and drift are listed by how they fare", async () => {
  const line = await startSignedIn();
  const { print, run } = line;
  const { orchestrator } = line.server;
  const { agent } = await startSocketAgent(line);
  const node_id = agent.nodeId!;
  await orchestrator.agents.setStatus(systemCaller, { node_id, status: "approved" });
  const content = "name: web\nresources:\n  - { id: f, type: file, path: /web, content: ours }\n";
  await orchestrator.modules.upload(systemCaller, { content });
  await orchestrator.operations.apply(systemCaller, { node_id, modules: ["web"] });
  await orchestrator.drift.check(systemCaller, { node_id });
  expect(await print("agents", "list", "-o", "wide")).toMatch(/succeeded +in_sync +\S+ +web@1/);
  const lists = (...args: string[]): Promise<string> => print("agents", "list", "-o", "name", ...args);
  for (const filter of [
    ["--last-apply", "succeeded"],
    ["--drift", "in_sync"],
    ["--connected"],
    ["--module", "web@1", "--drift", "in_sync"],
  ])
    expect(await lists(...filter)).toContain(node_id);
  for (const filter of [
    ["--last-apply", "unsuccessful"],
    ["--drift", "drifted"],
    ["--disconnected"],
    ["--agent-version", "0.0.0-none"],
  ])
    expect(await lists(...filter)).not.toContain(node_id);
  expect(await print("drift")).toMatch(/in_sync/);
  expect(await print("drift", "--status", "drifted")).not.toMatch(/in_sync/);
  expect(await print("drift", "--selector", "role=none")).not.toMatch(/in_sync/);
  expect((await run("drift", "--last")).stderr).toContain("Name the agent");
  expect((await run("drift", node_id, "--status", "drifted")).stderr).toContain("name none");
  expect((await run("agents", "list", "--last-apply", "lost")).stderr).toContain("last_apply");
});

it("drift says why a check could not tell", async () => {
  const line = await startCommandLine({ secretsKey: new MemorySecretsKey() });
  await line.print("login", "--key", line.key);
  const { orchestrator } = line.server;
  const node_id = (await startSocketAgent(line)).agent.nodeId!;
  await orchestrator.agents.setStatus(systemCaller, { node_id, status: "approved" });
  await orchestrator.secrets.create(systemCaller, {
    name: "db",
    value: "a value",
  });
  const content =
    "name: web\nresources:\n  - { id: f, type: file, path: /web, content: '{{ secrets.db }}' }\n";
  await orchestrator.modules.upload(systemCaller, { content });
  await orchestrator.operations.apply(systemCaller, { node_id, modules: ["web"] });
  await orchestrator.modules.upload(systemCaller, { content: content.replace("{{ secrets.db }}", "ours") });
  await orchestrator.secrets.remove(systemCaller, { name: "db" });
  const checked = await line.run("drift", node_id);
  expect(checked).toMatchObject({
    code: 1,
    stdout: expect.stringMatching(/failed \(no results\): SECRET_UNAVAILABLE: /),
  });
  expect(await line.print("drift", node_id, "--list")).toMatch(/ failed +SECRET_UNAVAILABLE\n/);
  expect(await line.print("drift", "--status", "failed")).toMatch(/ failed +SECRET_UNAVAILABLE\n/);
  const [newest] = (await orchestrator.drift.newest(systemCaller, { status: "failed" })).items;
  expect(newest).toMatchObject({ node_id, error: { code: "SECRET_UNAVAILABLE" } });
});
