/** A command on a fleet whose processes are killed while it runs. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { RunDetail } from "fleetwright";
import {
  eventually,
  Program,
  startAgentProcess,
  startFleetMember,
  startServerProcess,
  type ServerProcess,
} from "../support/processes.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

/** A script that notes that it began and waits until it may go on. */
function waitingScript(folder: string): { script: string; begun: () => string } {
  const [file, goOn] = [join(folder, "begun"), join(folder, "go-on")];
  const script = `echo begun >> ${file}; while [ ! -e ${goOn} ]; do sleep 0.05; done; echo went on`;
  return { script, begun: () => (existsSync(file) ? readFileSync(file, "utf8") : "") };
}

async function ended({ client }: ServerProcess, { rollout_id }: RunDetail): Promise<RunDetail> {
  let run = await client.runs.get(rollout_id);
  await eventually("the run has ended", async () => {
    run = await client.runs.get(rollout_id);
    return run.status !== "running" && run.status !== "stopping";
  });
  return run;
}

test("an agent that is killed while a command runs ends it as interrupted, and never runs it again", async () => {
  const folder = temporaryFolder();
  await using server = await startServerProcess(join(folder, "data"));
  await using agent = await startFleetMember(join(folder, "agent"), server);
  const { script, begun } = waitingScript(folder);
  const run = await server.client.runs.start({ selector: "*", script, wait_seconds: 0 });
  await eventually("it runs", () => begun() !== "");
  await agent.program.end("SIGKILL");
  await using _ = await startAgentProcess(join(folder, "agent"), server.url);
  expect((await ended(server, run)).groups).toMatchObject([{ count: 1, status: "interrupted" }]);
  expect(begun()).toBe("begun\n");
});

test("a server that is killed while a command runs learns how it ended, and has it run nowhere twice", async () => {
  const folder = temporaryFolder();
  const { script, begun } = waitingScript(folder);
  await using server = await startServerProcess(join(folder, "data"));
  await using agent = await startFleetMember(join(folder, "agent"), server);
  const run = await server.client.runs.start({ selector: "*", script, wait_seconds: 0 });
  await eventually("it runs", () => begun() !== "");
  await server.program.end("SIGKILL");
  await using again = await startServerProcess(join(folder, "data"), Number(new URL(server.url).port));
  await eventually("the agent is back", async () => (await again.client.agents.get(agent.nodeId)).connected);
  writeFileSync(join(folder, "go-on"), "");
  const { groups, status } = await ended(again, run);
  expect(status).toBe("succeeded");
  expect(groups).toMatchObject([{ count: 1, exit_code: 0, output: [{ text: "went on\n" }] }]);
  expect(begun()).toBe("begun\n");
});

test("Ctrl-C at the command line ends the command on the machines, and tells what came of it", async () => {
  const folder = temporaryFolder();
  await using server = await startServerProcess(join(folder, "data"));
  await using _ = await startFleetMember(join(folder, "agent"), server);
  const environment = { HOME: join(folder, "home"), FLEETWRIGHT_URL: server.url };
  await using login = new Program(["login", "--key", join(folder, "data", "admin-key")], environment);
  expect(await login.exited()).toBe(0);
  const { script, begun } = waitingScript(folder);
  await using command = new Program(["run", "--on", "*", "--", script], environment);
  await eventually("it runs", () => begun() !== "");
  expect(await command.end("SIGINT")).toBe(1);
  expect(command.stdout).toMatch(/^web-1: cancelled/);
  expect(command.stdout).toMatch(/^run \S+: cancelled, 0 of 1 agent succeeded$/m);
  await using again = new Program(["run", "--agent", "web-1", "--", "echo", "a  b"], environment);
  expect(await again.exited()).toBe(0);
  expect(again.stdout).toMatch(
    /^web-1: succeeded\n {2}\| a {2}b\nrun \S+: succeeded, 1 of 1 agent succeeded\n$/,
  );
});
