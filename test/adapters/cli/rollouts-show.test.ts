/** A rollout over more agents than anybody reads through. */
import { expect, it } from "vitest";
import type { RolloutDetail } from "fleetwright";
import { startAskedFleet } from "../../support/asked-fleet.ts";
import { runIn } from "../../support/command-line.ts";
import { recordAnswers } from "../../support/sent-requests.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const id = "01936f2a-1b2c-7000-8000-000000000001";

it(
  "of many agents it shows the counts, the first that failed, and how to see all",
  { timeout: 60_000 },
  async () => {
    const line = await startAskedFleet(21);
    await line.run("run", "--on", "*", "--yes", "--", "false");
    const id = (await line.print("rollouts", "list", "-o", "name")).trim();

    const shown = await line.print("rollouts", "show", id);
    expect(shown).toMatch(/^agents +21 failed$/m);
    expect(shown).toMatch(/^AGENT +BATCH +STATUS +RESULT +OPERATION$/m);
    expect(shown.match(/ failed +/g)).toHaveLength(11);
    expect(shown).toContain(`These failed first; \`fleetwright rollouts agents ${id}\` lists all 21.\n`);

    const json = async (...args: string[]): Promise<RolloutDetail> =>
      JSON.parse(await line.print("--json", "rollouts", "show", id, ...args)) as RolloutDetail;
    expect(await json()).toMatchObject({ truncated: true, operations: { length: 20 } });
    expect(await json("--agents", "1000")).toMatchObject({ truncated: false, operations: { length: 21 } });
    const two = await line.print("rollouts", "show", id, "--agents", "2");
    expect(two).toContain(`These are the first; \`fleetwright rollouts agents ${id}\` lists all 21.\n`);
  },
);

it.each([
  [{ failed: 3 }, [["failed", 3]]],
  [{ failed: 10, unknown: 5 }, [["failed", 10]]],
  [
    { stale: 9, partial: 6, failed: 2, interrupted: 0 },
    [
      ["failed", 2],
      ["partial", 6],
      ["stale", 2],
    ],
  ],
])("of %j it asks for ten that failed, the worst first", async (counts, asked) => {
  const rollout = { rollout_id: id, counts, operations: [], rollout: {}, truncated: true, matched: 30 };
  const sent = recordAnswers(({ to, input }) => {
    if (!to.endsWith("/agents")) return Response.json(rollout);
    const { status, limit } = input as { status: string; limit: string };
    const items = Array.from({ length: Number(limit) }, (_, at) => ({
      name: `${status}-${at}`,
      status,
      batch: 1,
    }));
    return Response.json({ items, next_cursor: "more" });
  });
  const folder = temporaryFolder();
  const { stdout } = await runIn(folder, ["rollouts", "show", id], "http://fleet.example");
  const lists = sent.filter(({ to }) => to.endsWith("/agents")).map(({ input }) => input);
  expect(lists).toEqual(asked.map(([status, limit]) => ({ status, limit: String(limit) })));
  const names = asked.flatMap(([status, limit]) =>
    Array.from({ length: Number(limit) }, (_, at) => `${status}-${at}`),
  );
  expect(stdout.match(/^[a-z]+-\d+(?= )/gm)).toEqual(names);
});

it("an apply that nobody waits for says that it goes on, and by what it is found", async () => {
  const line = await startAskedFleet(1);
  await line.upload("web", "/page");
  await line.print("assignments", "create", "web", "--selector", "*", "--module", "web");
  await line.leave();
  const { code, stdout } = await line.run("assignments", "apply", "web", "--queue-offline", "--no-wait");
  const id = (await line.print("rollouts", "list", "-o", "name")).trim();
  expect(code).toBe(5);
  expect(stdout).toBe(
    "web: 1 agent: 1 not ended, or never begun\n" +
      `web: apply running, succeeded on 0 of 1 agent\n  rollout ${id}\n`,
  );
});

it("a rollout that is paused, resumed or cancelled is told without its agents", async () => {
  const line = await startAskedFleet(1);
  await line.print("agents", "tag", "web-1", "--set", "role=web");
  await line.upload("web", "/page");
  await line.print("assignments", "create", "web", "--selector", "role=web", "--module", "web");
  await line.leave();
  await line.run("assignments", "apply", "web", "--queue-offline", "--no-wait");
  const id = (await line.print("rollouts", "list", "-o", "name")).trim();
  for (const verb of ["pause", "resume", "cancel"]) {
    const told = JSON.parse(await line.print("--json", "rollouts", verb, id)) as RolloutDetail;
    expect(told).toMatchObject({ rollout_id: id, matched: 1, operations: [], truncated: true });
  }
});

it("cancelling a command ends it on the machines", async () => {
  const line = await startAskedFleet(1);
  await line.run("run", "--agent", "web-1", "--no-wait", "--", "sleep 600");
  const id = (await line.print("rollouts", "list", "-o", "name")).trim();
  expect(await line.print("rollouts", "cancel", id)).toBe(`${id} is stopping.\n`);
  const { code, stdout } = await line.run("rollouts", "watch", id);
  expect(code).toBe(1);
  expect(stdout).toMatch(/^web-1: cancelled/);
});
