/** The orchestrator's key as the command line pins it, and what a server gets that is in the place of another. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { MemoryStorage, toHex } from "fleetwright";
import { readSigner } from "fleetwright/client/node";
import { startServer } from "fleetwright/h3";
import type { RunningServer } from "fleetwright/h3";
import { runIn, startCommandLine, startSignedIn } from "../../support/command-line.ts";
import type { CommandLine } from "../../support/command-line.ts";
import { startRogue } from "../../support/rogue-server.ts";
import type { RogueOptions } from "../../support/rogue-server.ts";

const withoutAudience: RogueOptions = { ask: ({ public_key }) => ({ public_key }) };
/** What the real server sends to its own clients. */
const ofRealClient: RogueOptions = { ask: (asked, { realUrl }) => ({ ...asked, audience: realUrl }) };

describe("the first sign-in", () => {
  it("tells the orchestrator's key and pins it", async () => {
    const line = await startCommandLine();
    const first = await line.run("login", "--key", line.key);
    expect(first).toMatchObject({ code: 0, stderr: expect.stringContaining(keyOf(line.server)) });
    expect(readProfile(line).orchestrator_keys).toEqual({ [line.server.url]: keyOf(line.server) });
    expect(await line.run("login")).toMatchObject({ code: 0, stderr: "" });
  });

  it("with --orchestrator-key goes to that one only, and has nothing to tell", async () => {
    const line = await startCommandLine();
    const other = await line.run("login", "--key", line.key, "--orchestrator-key", "ab".repeat(32));
    expect(other).toMatchObject({ code: 1, stderr: expect.stringContaining("ORCHESTRATOR_KEY_CHANGED") });
    const none = await line.run("login", "--key", line.key, "--orchestrator-key", "ab");
    expect(none).toMatchObject({ code: 2, stderr: expect.stringContaining("--orchestrator-key") });
    const right = ["login", "--key", line.key, "--orchestrator-key", keyOf(line.server).toUpperCase()];
    expect(await line.run(...right)).toMatchObject({ code: 0, stderr: "" });
    expect(readProfile(line).orchestrator_keys).toEqual({ [line.server.url]: keyOf(line.server) });
  });

  it.each([
    ["passes everything on", {}, "ORIGIN_REFUSED"],
    ["leaves the audience out", withoutAudience, "PROTOCOL_ERROR"],
    ["asks as the real server's own clients do", ofRealClient, "PROTOCOL_ERROR"],
  ] as const)("at a rogue that %s gives it nothing", async (_, options, code) => {
    const line = await startCommandLine();
    const rogue = await startRogue(line.server.url, options);
    const result = await runIn(line.folder, ["login", "--key", line.key], rogue.url);
    expect(rogue).toMatchObject({ tokens: [], signatures: [] });
    expect(result).toMatchObject({ code: 1, stderr: expect.stringContaining(code) });
    expect(() => readProfile(line)).toThrow("ENOENT");
  });
});

describe("a stored profile", () => {
  it("from before keys were pinned pins at the next sign-in, and says so", async () => {
    const line = await startSignedIn();
    writeProfile(line, { ...readProfile(line), orchestrator_keys: undefined, token: "fw_gone" });
    const again = await line.run("whoami");
    expect(again).toMatchObject({ code: 0, stderr: expect.stringContaining(keyOf(line.server)) });
    expect(readProfile(line).orchestrator_keys).toEqual({ [line.server.url]: keyOf(line.server) });
    writeProfile(line, { ...readProfile(line), token: "fw_gone" });
    expect(await line.run("whoami")).toMatchObject({ code: 0, stderr: "" });
  });

  it.each([
    ["pinned", withoutAudience, "ORCHESTRATOR_KEY_CHANGED"],
    ["not pinned", withoutAudience, "PROTOCOL_ERROR"],
    ["not pinned", {}, "ORIGIN_REFUSED"],
    ["not pinned", ofRealClient, "PROTOCOL_ERROR"],
  ] as const)("%s signs in to no rogue that took the server's place (%#)", async (pin, options, code) => {
    const line = await startSignedIn();
    const other = await startOther(line, 0);
    writeProfile(line, {
      ...readProfile(line),
      ...(pin === "not pinned" && { orchestrator_keys: undefined }),
    });
    await line.server.close();
    const rogue = await startRogue(other.url, options, portOf(line.server));
    const before = readProfile(line);
    const result = await line.run("agents", "list");
    expect(rogue).toMatchObject({ tokens: [], signatures: [] });
    expect(result).toMatchObject({ code: 1, stdout: "", stderr: expect.stringContaining(code) });
    expect(readProfile(line)).toEqual(before);
  });

  it("takes a changed key when it is told to, and keeps what it knows of other servers", async () => {
    const line = await startSignedIn();
    const other = await startOther(line, 0);
    await line.print("--url", other.url, "login", "--key", line.key);
    await line.server.close();
    const changed = await startOther(line, portOf(line.server));
    // By itself, where the session is gone; this also uses up the connections of this process to the server that ended.
    const silent = await line.run("--url", changed.url, "status");
    expect(silent).toMatchObject({ code: 1, stderr: expect.stringContaining("ORCHESTRATOR_KEY_CHANGED") });
    const refused = await line.run("--url", changed.url, "login");
    expect(refused).toMatchObject({ code: 1, stdout: "" });
    expect(refused.stderr).toContain(`ORCHESTRATOR_KEY_CHANGED`);
    expect(refused.stderr).toContain(keyOf(changed));
    expect(refused.stderr).toContain("`fleetwright login --orchestrator-key KEY`");
    await line.print("--url", changed.url, "login", "--orchestrator-key", keyOf(changed));
    expect(readProfile(line).orchestrator_keys).toEqual({
      [changed.url]: keyOf(changed),
      [other.url]: keyOf(other),
    });
  });

  it("pins the key of a server that is called beside its own, too", async () => {
    const line = await startSignedIn();
    const other = await startOther(line, 0);
    const first = await line.run("--url", other.url, "whoami");
    expect(first).toMatchObject({ code: 0, stderr: expect.stringContaining(keyOf(other)) });
    expect(readProfile(line)).toMatchObject({
      url: line.server.url,
      orchestrator_keys: { [line.server.url]: keyOf(line.server), [other.url]: keyOf(other) },
    });
    expect(await line.run("--url", other.url, "whoami")).toMatchObject({ code: 0, stderr: "" });
  });

  it("with a pin that can't be read is damaged, not without one", async () => {
    const line = await startSignedIn();
    const profile = readProfile(line);
    const key = keyOf(line.server);
    const { url } = line.server;
    const damages = [{ [url]: "abc" }, { [url]: key.toUpperCase() }, { [url]: [key] }, { [url]: null }];
    for (const orchestrator_keys of [...damages, [], [key], key, null, 0, true]) {
      writeProfile(line, { ...profile, orchestrator_keys });
      expect(await line.run("whoami"), JSON.stringify(orchestrator_keys)).toMatchObject({
        code: 1,
        stderr: expect.stringContaining("CONFIGURATION_INVALID"),
      });
    }
  });

  it("keeps the pin that another command made meanwhile", async () => {
    const line = await startSignedIn();
    const { orchestrator_keys: _, ...profile } = readProfile(line);
    const [before, meanwhile] = ["a".repeat(64), "b".repeat(64)];
    writeProfile(line, { ...profile, orchestrator_keys: { "http://before.example": before } });
    const other = { "http://before.example": before, "http://meanwhile.example": meanwhile };
    const said = (stderr: string): void => {
      if (stderr.includes("proved the key")) writeProfile(line, { ...profile, orchestrator_keys: other });
    };
    expect(await runIn(line.folder, ["login"], line.server.url, "", said)).toMatchObject({ code: 0 });
    expect(readProfile(line)["orchestrator_keys"]).toEqual({
      ...other,
      [line.server.url]: keyOf(line.server),
    });
  });
});

/** Another orchestrator with the same Admin. */
async function startOther({ key }: CommandLine, port: number): Promise<RunningServer> {
  const server = await startServer({
    storage: new MemoryStorage(),
    adminPublicKeys: [readSigner(key).publicKey],
    listen: { port },
  });
  onTestFinished(() => server.close());
  return server;
}

function keyOf({ orchestrator }: RunningServer): string {
  return toHex(orchestrator.publicKey);
}

function portOf({ url }: RunningServer): number {
  return Number(new URL(url).port);
}

type Fields = Record<string, unknown>;

function readProfile({ folder }: CommandLine): Fields {
  return JSON.parse(readFileSync(join(folder, "home", "profile.json"), "utf8")) as Fields;
}

function writeProfile({ folder }: CommandLine, profile: Fields): void {
  writeFileSync(join(folder, "home", "profile.json"), JSON.stringify(profile));
}
