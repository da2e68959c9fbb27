/** A real server and real agents: a token for two machines lets two in, tagged, and a third one waits. */
import { readdirSync, readFileSync, writeFileSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { eventually, Program, startServerProcess } from "../support/processes.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

it(
  "a token for two machines approves and tags two, also over a kill of the server, and no third",
  { timeout: 120_000 },
  async () => {
    const folder = temporaryFolder();
    const dataDir = join(folder, "data");
    await using first = await startServerProcess(dataDir);
    const { url } = first;
    const environment = { HOME: join(folder, "home"), FLEETWRIGHT_URL: url };
    const run = async (...args: string[]): Promise<string> => {
      await using program = new Program(args, environment);
      if ((await program.exited()) !== 0) throw new Error(`${args.join(" ")}: ${program.stderr}`);
      return program.stdout;
    };
    await run("login", "--key", join(dataDir, "admin-key"));
    const printed = await run("enrol", "token", "--uses", "2", "--tag", "role=web", "--name", "rack");
    const [, token = ""] = /^Token +(\S+)$/m.exec(printed) ?? [];
    const [, command = ""] = /^ {2}fleetwright (.*) --token-file \S+$/m.exec(printed) ?? [];
    const tokenFile = join(folder, "token");
    writeFileSync(tokenFile, `${token}\n`, { mode: 0o600 });

    const programs: Program[] = [];
    await using _ended = {
      [Symbol.asyncDispose]: async () => void (await Promise.all(programs.map((p) => p.end("SIGKILL")))),
    };
    /** Starts an agent as the printed command does; resolves with its node_id. */
    const start = async (name: string, { isFromFile = false } = {}): Promise<string> => {
      const root = join(folder, name, "root");
      mkdirSync(root, { recursive: true });
      const places = ["--root", root, "--state-dir", join(folder, name, "state")];
      const given = isFromFile ? ["--token-file", tokenFile] : [];
      const variable: Record<string, string> = isFromFile ? {} : { FLEETWRIGHT_ENROLMENT_TOKEN: token };
      const program = new Program([...command.split(" "), ...places, ...given], variable);
      programs.push(program);
      return (await program.says(/^Node +(\w+)\n/m))[1]!;
    };
    const statusOf = async (nodeId: string): Promise<string> => {
      const { items } = await first.client.agents.list();
      return items.find(({ node_id }) => node_id === nodeId)?.status ?? "unknown";
    };

    const one = await start("one");
    await eventually("the first is approved", async () => (await statusOf(one)) === "approved");
    expect(await first.client.agents.get(one)).toMatchObject({
      tags: { role: "web" },
      approved_by: "enrolment token rack",
    });

    await first.program.end("SIGKILL");
    await using server = await startServerProcess(dataDir, Number(new URL(url).port));
    const [two, three] = await Promise.all([start("two", { isFromFile: true }), start("three")]);
    const listed = async () => (await server.client.agents.list()).items;
    await eventually("both are known", async () => (await listed()).length === 3);
    const statuses = (await listed()).map(({ node_id, status }) => [node_id, status]);
    const later = [two, three].map((id) => statuses.find(([node_id]) => node_id === id)?.[1]);
    expect(later.toSorted()).toEqual(["approved", "pending"]);
    expect(statuses).toContainEqual([one, "approved"]);
    await eventually("the first is back", async () => (await listed()).every(({ connected }) => connected));

    const { items } = await server.client.enrolmentTokens.list();
    expect(items).toMatchObject([{ used: 2, uses: 2, status: "used_up" }]);
    const refused = await server.client.audit.list({ event_type: "enrolmentToken.refused" });
    expect(refused.items.map(({ metadata }) => metadata)).toMatchObject([{ reason: "used_up" }]);
    const waiting = programs[later[0] === "pending" ? 1 : 2]!;
    await eventually("it is in the log", () => /did not count/.test(waiting.stderr + waiting.stdout));

    // The token is in no file but the one it was put into, and in no log.
    const kept = readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && join(entry.parentPath, entry.name) !== tokenFile)
      .filter((entry) => textOf(join(entry.parentPath, entry.name)).includes(token.slice(4, 24)));
    expect(kept.map(({ name }) => name)).toEqual([]);
    const said = [first.program, server.program, ...programs].map(({ stdout, stderr }) => stdout + stderr);
    expect(said.join()).not.toContain(token.slice(4, 24));
  },
);

/** What a file holds; nothing where a process has taken it away meanwhile. */
function textOf(path: string): string {
  try {
    return readFileSync(path, "latin1");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return "";
    throw error;
  }
}
