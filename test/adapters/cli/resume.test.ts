import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { MemoryStorage, systemCaller } from "fleetwright";
import { createKeyFile } from "fleetwright/client/node";
import { createTestOrchestrator } from "fleetwright/testing";
import { runIn, startCommandLine, type CommandLine } from "../../support/command-line.ts";
import { recordAnswers } from "../../support/sent-requests.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

/** A server of a backup with a due time that has passed and an assignment that enforces. */
async function startRestored(): Promise<CommandLine> {
  const before = await createTestOrchestrator();
  const { assignments, modules } = before.orchestrator;
  await modules.upload(systemCaller, { content: "name: motd\nresources: []\n" });
  const schedule = { cron: "0 * * * *" };
  await assignments.create(systemCaller, { name: "hourly", selector: "*", modules: ["motd"], schedule });
  await assignments.create(systemCaller, { name: "kept", selector: "*", modules: ["motd"], enforce: true });
  const data = (before.storage as MemoryStorage).restoredCopy();
  await before[Symbol.asyncDispose]();
  const clock = before.clock;
  await clock.advance(3_600_000);
  const commandLine = await startCommandLine({ storage: new MemoryStorage({ data, clock }), clock });
  await commandLine.print("login", "--key", commandLine.key);
  return commandLine;
}

describe("fleetwright resume", () => {
  it("lists what would happen, and changes nothing without a yes", async () => {
    const { server, folder, print } = await startRestored();
    for (const answer of ["", { typed: "" }, { typed: "no\n" }, { typed: "yess\n" }, "y\n"]) {
      const asked = await runIn(folder, ["resume"], server.url, answer);
      expect(asked.code).toBe(typeof answer === "string" ? 2 : 1);
      expect(asked.stdout).toContain("Due times that have passed");
      expect(asked.stdout).toMatch(/hourly +2030-01-01T01:00:00.000Z/);
      expect(asked.stdout).toMatch(/Enforced again +kept/);
      expect(asked.stderr).toContain("Let the server go on?");
    }
    const status = await print("status");
    expect(status).toContain("degraded");
    // "Nothing needs you" would stand right below the check that failed.
    expect(status).toMatch(/The server needs you: see its checks above\.\n$/);
  });

  it("goes on after a yes, tells what is not carried out, and then has nothing to do", async () => {
    const { server, folder, print } = await startRestored();
    const gone = await runIn(folder, ["resume"], server.url, { typed: "yes\n" });
    expect(gone).toMatchObject({ code: 0 });
    expect(gone.stdout).toContain(
      "The server goes on.\nNot carried out: hourly, due at 2030-01-01T01:00:00.000Z.\n",
    );
    expect(await print("status")).toContain("ok");
    expect(await print("resume")).toBe("The server is not paused after a restore.\n");
    expect(await print("audit", "list")).toContain("storage.resumed");
  });

  it("does not ask with --yes, and prints the API's JSON with --json", async () => {
    const { print } = await startRestored();
    const state = JSON.parse(await print("resume", "--yes", "--json")) as Record<string, unknown>;
    expect(state).toMatchObject({ status: "active", missed: [{ assignment: "hourly" }] });
  });

  it.each([
    [1, 1, null],
    [1, 2, 1],
    [2, 2, null],
    [2, 9, 7],
  ])("tells %i operations of %i, and how many more there are", async (told, there, more) => {
    const { folder, server } = await startRestored();
    const operations = Array.from({ length: told }, (_, at) => ({
      operation_id: `01936f2a-1b2c-7000-8000-00000000000${at}`,
      kind: "apply",
      agent_name: "web-1",
      status: "queued",
      would: "begin",
    }));
    recordAnswers(async (_, send) => {
      const state = (await (await send()).json()) as object;
      return Response.json({ ...state, operations, open_operations: there });
    });
    const { stdout } = await runIn(folder, ["resume"], server.url);
    expect(/^\.\.\. and (\d+) more$/m.exec(stdout)?.[1]).toBe(more === null ? undefined : String(more));
  });

  it("is an Admin's business", async () => {
    const { print, server } = await startRestored();
    const user = temporaryFolder();
    const { publicKey } = createKeyFile(join(user, "key"));
    await print("operators", "add", "ada", publicKey, "--role", "Operator");
    await runIn(user, ["login", "--key", join(user, "key")], server.url);
    const refused = await runIn(user, ["resume", "--yes"]);
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining("FORBIDDEN")]);
  });
});
