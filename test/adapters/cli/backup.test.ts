import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { FileStorage, MemoryStorage, systemCaller, toHex } from "fleetwright";
import type { Storage } from "fleetwright";
import { createKeyFile } from "fleetwright/client/node";
import { startServer } from "fleetwright/h3";
import { runIn, startCommandLine, type CommandLine, type CommandResult } from "../../support/command-line.ts";
import { recordAnswers } from "../../support/sent-requests.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const oldBackup = join(import.meta.dirname, "../../storage/golden/v1/fleet.backup");

async function startOn(storage: Storage): Promise<CommandLine> {
  const commandLine = await startCommandLine({ storage });
  await commandLine.print("login", "--key", commandLine.key);
  return commandLine;
}

/** A server with a module, and a backup of it. */
async function backedUp(): Promise<CommandLine & { file: string; dataDir: string }> {
  const dataDir = join(temporaryFolder(), "data");
  const commandLine = await startOn(new FileStorage({ folder: dataDir }));
  const { server, folder, print } = commandLine;
  const content = "name: motd\nresources: []\n";
  await server.orchestrator.modules.upload(systemCaller, { content });
  const file = join(folder, "fleet.backup");
  await print("backup", file);
  return { ...commandLine, file, dataDir };
}

describe("a backup of a running server", () => {
  it("is one file for its owner alone, and verifies", async () => {
    const { file, print, folder } = await backedUp();
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readdirSync(folder).filter((name) => name.includes("fleet.backup"))).toEqual(["fleet.backup"]);
    const summary = JSON.parse(await print("backup", "verify", file, "--json")) as { documents: number };
    expect(summary.documents).toBeGreaterThan(3);
  });

  it("is restored into a server with the same key, operators, modules and audit log", async () => {
    const { file, print, server, key } = await backedUp();
    const dataDir = join(temporaryFolder(), "restored");
    await print("restore", file, "--data-dir", dataDir, "--url", server.url);
    await using restored = await startServer({
      storage: new FileStorage({ folder: dataDir }),
      listen: { port: 0 },
    });
    expect(restored.orchestrator.publicKey).toEqual(server.orchestrator.publicKey);
    const user = temporaryFolder();
    expect(await runIn(user, ["login", "--key", key], restored.url)).toMatchObject({ code: 0 });
    expect((await runIn(user, ["modules", "list"])).stdout).toContain("motd");
    expect(await runIn(user, ["audit", "verify"])).toMatchObject({ code: 0 });
    expect((await runIn(user, ["audit", "list"])).stdout).toContain("storage.backedUp");
  });

  it("is restored above the epoch that is said, or above its own", async () => {
    const { file, print, server } = await backedUp();
    const epochOf = async (...words: string[]): Promise<number> => {
      const dataDir = join(temporaryFolder(), "restored");
      await print("restore", file, "--data-dir", dataDir, "--url", server.url, ...words);
      const storage = new FileStorage({ folder: dataDir });
      await using restored = await startServer({ storage, listen: { port: 0 } });
      return (await restored.orchestrator.restores.get(systemCaller)).epoch!.number;
    };
    const [after, own] = [7_000_000_000_000_000, await epochOf()];
    const before = (await server.orchestrator.restores.get(systemCaller)).epoch?.number ?? 0;
    expect(own).toBeGreaterThan(before);
    expect(own).toBeLessThan(after);
    expect(await epochOf("--epoch-after", String(after))).toBeGreaterThan(after);
    expect(await epochOf("--epoch-after", "0")).toBeGreaterThanOrEqual(own);
  });

  it("is kept only where it is of the server whose key is pinned", async () => {
    const [line, other] = [await backedUp(), await backedUp()];
    recordAnswers(({ to }, send) => (to === "GET /backup" ? new Response(readFileSync(other.file)) : send()));
    const path = join(line.folder, "another.backup");
    const refused = await line.run("backup", path);
    expect(refused).toMatchObject({ code: 1, stdout: "" });
    expect(refused.stderr).toContain("ORCHESTRATOR_KEY_CHANGED");
    expect(readdirSync(line.folder).filter((name) => name.includes("another"))).toEqual([]);
  });

  it("is an Admin's business", async () => {
    const { print, server } = await startOn(new FileStorage({ folder: temporaryFolder() }));
    const user = temporaryFolder();
    const { publicKey } = createKeyFile(join(user, "key"));
    await print("operators", "add", "ada", publicKey, "--role", "Operator");
    await runIn(user, ["login", "--key", join(user, "key")], server.url);
    const file = join(user, "fleet.backup");
    expect(await runIn(user, ["backup", file])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("FORBIDDEN"),
    });
    expect(readdirSync(user).filter((name) => name.includes("backup"))).toEqual([]);
  });

  it("takes the place of no other file", async () => {
    const { run, file } = await backedUp();
    const before = readFileSync(file);
    expect(await run("backup", file)).toMatchObject({ code: 2, stderr: expect.stringContaining("EEXIST") });
    expect(readFileSync(file).equals(before)).toBe(true);
  });

  it("is refused by a storage that makes none", async () => {
    const { run, folder } = await startOn(new MemoryStorage());
    expect(await run("backup", join(folder, "x"))).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("NOT_FOUND"),
    });
    expect(existsSync(join(folder, "x"))).toBe(false);
  });
});

/** Another user on another machine: nothing is known there. */
function elsewhere(...args: string[]): Promise<CommandResult> {
  return runIn(temporaryFolder(), args);
}

describe("whose a backup is", () => {
  it("is told, and known where its orchestrator's key is pinned", async () => {
    const { run, file, server } = await backedUp();
    const key = toHex(server.orchestrator.publicKey);
    expect(await run("backup", "verify", file)).toMatchObject({
      code: 0,
      stdout: expect.stringContaining(`Signed by    ${key}`),
    });
    expect((await elsewhere("backup", "verify", file)).stdout).toContain(key);
  });

  it("must be confirmed by somebody where it is not known", async () => {
    const { file, server } = await backedUp();
    const key = toHex(server.orchestrator.publicKey);
    const dataDir = join(temporaryFolder(), "restored");
    const command = ["restore", file, "--data-dir", dataDir];
    const refused = await elsewhere(...command);
    expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining(`--orchestrator-key ${key}`) });
    for (const typed of ["", "yess\n", "no\n"])
      expect(await runIn(temporaryFolder(), command, undefined, { typed })).toMatchObject({
        code: 1,
        stderr: expect.stringMatching(new RegExp(`${key}.*\\[y/N\\] .*Nothing was restored`, "s")),
      });
    expect(existsSync(dataDir)).toBe(false);
    expect(await runIn(temporaryFolder(), command, undefined, { typed: "yes\n" })).toMatchObject({ code: 0 });
    const told = join(temporaryFolder(), "told");
    expect(await elsewhere("restore", file, "--data-dir", told, "--orchestrator-key", key)).toMatchObject({
      code: 0,
    });
  });

  it("is compared with the pinned key, and with the one that is told in its place", async () => {
    const { run, server } = await backedUp();
    const { file, server: other } = await backedUp();
    const [key, othersKey] = [server, other].map(({ orchestrator }) => toHex(orchestrator.publicKey));
    const dataDir = join(temporaryFolder(), "restored");
    for (const command of [
      ["backup", "verify", file, "--url", server.url],
      ["restore", file, "--data-dir", dataDir, "--url", server.url],
    ]) {
      expect(await run(...command)).toMatchObject({
        code: 1,
        stderr: expect.stringMatching(`ORCHESTRATOR_KEY_CHANGED: .*${othersKey}.*${key}`),
      });
    }
    expect(readdirSync(dataDir)).toEqual([]);
    expect(await run("restore", file, "--data-dir", dataDir, "--orchestrator-key", othersKey!)).toMatchObject(
      {
        code: 0,
      },
    );
  });

  it("is not taken from the server of the last login", async () => {
    const { run, file, server } = await backedUp();
    const key = toHex(server.orchestrator.publicKey);
    const dataDir = join(temporaryFolder(), "restored");
    // The pin of whichever server somebody signed in to last made any backup of that server one to be restored.
    expect(await run("restore", file, "--data-dir", dataDir)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(`${key}, which is pinned for ${server.url}`),
    });
    expect(existsSync(dataDir)).toBe(false);
  });

  it("is nobody's where an older version made it, which has to be said", async () => {
    const { run, server } = await backedUp();
    const dataDir = join(temporaryFolder(), "restored");
    const command = ["restore", oldBackup, "--data-dir", dataDir];
    const known = ["--url", server.url];
    for (const refused of [
      run(...command, ...known),
      run("backup", "verify", oldBackup, ...known),
      elsewhere(...command),
    ])
      expect(await refused).toMatchObject({ code: 1, stderr: expect.stringContaining("BACKUP_UNSIGNED: ") });
    expect(readdirSync(dataDir)).toEqual([]);
    expect(await elsewhere("backup", "verify", oldBackup)).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("Signed by    nobody"),
    });
    expect(await run(...command, "--unsigned", "--orchestrator-key", "0".repeat(64))).toMatchObject({
      code: 2,
    });
    // Whose it should be is known: --unsigned does not take that back.
    expect(await run(...command, ...known, "--unsigned")).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("without --url"),
    });
    expect(readdirSync(dataDir)).toEqual([]);
    expect(await run(...command, "--unsigned")).toMatchObject({ code: 0 });
  });
});

describe("restore and verify", () => {
  it("name the damaged entry", async () => {
    const { run, file, folder } = await backedUp();
    const content = readFileSync(file);
    const at = content.indexOf('"logs/audit/') + 300;
    content[at] = (content[at] ?? 0) ^ 1;
    writeFileSync(file, content);
    for (const command of [
      ["backup", "verify", file],
      ["restore", file, "--data-dir", join(folder, "new")],
    ]) {
      expect(await run(...command)).toMatchObject({
        code: 1,
        stderr: expect.stringMatching(/STORAGE_CORRUPT: .*logs\/audit\/000000000001\.jsonl does not match/),
      });
    }
  });

  it("leave a folder that is not empty as it is", async () => {
    const { run, file, dataDir, server } = await backedUp();
    expect(await run("restore", file, "--data-dir", dataDir, "--url", server.url)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("ALREADY_EXISTS"),
    });
  });

  it("say which file can't be read", async () => {
    const { run, folder } = await startCommandLine();
    expect(await run("restore", folder, "--data-dir", join(folder, "new"), "--unsigned")).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(`${folder} can't be read (EISDIR)`),
    });
    expect(await run("backup", "verify", "/nowhere")).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("ENOENT"),
    });
  });
});
