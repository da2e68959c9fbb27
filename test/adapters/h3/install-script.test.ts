/**
 * Parts of the script of `GET /install.sh`, each run by a shell on folders of a test.
 *
 * Symptoms: the same key in quotes, after `export` or behind two blanks was taken for that of another server; an address that was kept
 * from an earlier installation was kept without a word, so the agent went to the server before; a token that came later was put into a
 * file that no setting named; one refusal of a busy server, or one connection that broke off, ended the installation.
 */
import { execFile, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { connect, createServer, type AddressInfo } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, onTestFinished, test } from "vitest";
import { MemoryStorage } from "fleetwright";
import { startServer } from "fleetwright/h3";
import { seal } from "../../../lib/agent/sealed-text.ts";
import { agentUrl, orchestratorKey as key, scriptOf } from "../../support/install-script.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

function settings(content: string | null): { etc: string; file: string } {
  const etc = join(temporaryFolder(), "etc");
  mkdirSync(etc, { recursive: true });
  const file = join(etc, "agent.conf");
  if (content !== null) writeFileSync(file, content);
  return { etc, file };
}

describe("whether the machine has the agent of another server", () => {
  const base64 = Buffer.from(key, "hex").toString("base64");
  test.each([
    [`orchestrator_key = ${key}`, true],
    [`orchestrator_key=${key}`, true],
    [`\t orchestrator_key\t=   ${key}  `, true],
    [`orchestrator_key = "${key}"`, true],
    [`orchestrator_key='${key}'`, true],
    [`export orchestrator_key=${key}`, true],
    [`orchestrator_key = ${key.toUpperCase()}`, true],
    [`orchestrator_key = "${base64}"`, true],
    [`url = wss://fleet.example\r\norchestrator_key = ${key}\r\n`, true],
    [`orchestrator_key = ${key}0`, false],
    [`orchestrator_key = ${key.slice(1)}`, false],
    [`# orchestrator_key = ${key}`, false],
    [`old_orchestrator_key = ${key}`, false],
    [`orchestrator_key = ${"00".repeat(32)}`, false],
    ["url = wss://fleet.example", false],
    ["", false],
  ])("%j: %s", (line, isOurs) => {
    const { etc } = settings(line);
    const { status } = spawnSync("sh", [], {
      input: scriptOf(etc, "if obeys_server; then exit 10; fi; exit 11"),
    });
    expect(status).toBe(isOurs ? 10 : 11);
  });
});

describe("the settings", () => {
  const configure = (content: string | null, token: string): { told: string; text: string; etc: string } => {
    const { etc, file } = settings(content);
    const input = scriptOf(etc, `token=${token} ca=; configure`);
    const { status, stdout, stderr } = spawnSync("sh", [], { input, encoding: "utf8" });
    expect([status, stderr]).toEqual([0, ""]);
    return { told: stdout, text: readFileSync(file, "utf8"), etc };
  };

  test("name a file for the token where there is one", () => {
    const without = configure(null, "");
    expect(without.text).toContain(`url = ${agentUrl}\norchestrator_key = ${key}\n`);
    expect(without.text).not.toContain("token_file");
    expect(existsSync(join(without.etc, "token"))).toBe(false);
    const { text, etc } = configure(null, "fwt_x");
    expect(text).toContain(`\ntoken_file = ${etc}/token\n`);
    expect(readFileSync(join(etc, "token"), "utf8")).toBe("fwt_x\n");
  });

  test("that are there stay, and a token that comes later is named by them", () => {
    const content = `url = "${agentUrl}"\norchestrator_key = ${key}`;
    expect(configure(content, "")).toMatchObject({ text: content, told: "" });
    const { text, etc } = configure(content, "fwt_x");
    expect(text).toBe(`${content}\ntoken_file = ${etc}/token\n`);
    const elsewhere = configure(`${content}\ntoken_file = /root/token\n`, "fwt_x");
    expect(elsewhere.told).toMatch(/reads the token in \/root\/token/);
    expect(elsewhere.text).toBe(`${content}\ntoken_file = /root/token\n`);
  });

  test.each<[string, RegExp | null]>([
    ["url = wss://fleet.example/agent/v1", null],
    ["url = https://fleet.example", null],
    ['export url="https://fleet.example/"', null],
    ["url = wss://before.example/agent/v1", /stays as it is: the agent connects to wss:\/\/before\.example/],
    ["url = http://fleet.example", /connects to http:\/\/fleet\.example\. This server is at wss:/],
    ["discover = true", /looks for a server by itself\. This server is at wss:/],
  ])("tell where an agent that is there connects to: %s", (line, told) => {
    const found = configure(`${line}\norchestrator_key = ${key}\n`, "").told;
    if (told === null) expect(found).toBe("");
    else expect(found).toMatch(told);
  });
});

/** A server with something to fetch. */
async function serving(): Promise<{ port: number; bytes: Buffer }> {
  const agentDir = join(temporaryFolder(), "agent");
  mkdirSync(agentDir);
  const bytes = Buffer.alloc(24 << 20);
  for (let at = 0; at < bytes.length; at += 4_096) bytes.writeUInt32BE(at, at);
  writeFileSync(join(agentDir, "a"), bytes);
  const artifacts = [{ platform: "linux-x64", file: "a", sha256: "b".repeat(64), size: bytes.length }];
  writeFileSync(join(agentDir, "manifest.json"), JSON.stringify({ version: "1.2.3", artifacts }));
  const server = await startServer({ storage: new MemoryStorage(), listen: { port: 0 }, agentDir });
  onTestFinished(() => server.close());
  return { port: Number(new URL(server.url).port), bytes };
}

/** Runs `fetch` of the script with a client for HTTP alone; `onSaid` is called when it says something. */
async function fetched(
  port: number,
  client: "curl" | "wget",
  onSaid = (): void => {},
): Promise<{ code: number; stderr: string; path: string }> {
  const { etc } = settings(null);
  const bin = join(etc, "bin");
  mkdirSync(bin);
  for (const name of [client, "sed", "tail", "wc", "rm", "sleep", "cat", "tr"])
    symlinkSync(spawnSync("which", [name], { encoding: "utf8" }).stdout.trim(), join(bin, name));
  const path = join(etc, "out");
  const does = `work='${etc}' sha256=${"b".repeat(64)} ca=; fetch http://127.0.0.1:${port}/agent/linux-x64 '${path}'`;
  const script = join(etc, "script.sh");
  writeFileSync(script, scriptOf(etc, does));
  const environment = { env: { PATH: bin } };
  const running = promisify(execFile)("/bin/sh", [script], environment);
  running.child.stderr?.on("data", onSaid);
  return running.then(
    ({ stderr }) => ({ code: 0, stderr, path }),
    ({ code, stderr }: { code: number; stderr: string }) => ({ code, stderr, path }),
  );
}

describe("a download by the script", () => {
  test.each(["curl", "wget"] as const)("goes on where %s was cut off", async (client) => {
    const { port, bytes } = await serving();
    let cuts = 0;
    const ranges: string[] = [];
    const cutter = createServer((socket) => {
      const upstream = connect(port, "127.0.0.1");
      socket
        .on("error", () => {})
        .on("data", (piece) => {
          ranges.push(/^range: (.*)\r$/im.exec(piece.toString("latin1"))?.[1] ?? "all");
          upstream.write(piece);
        });
      let passed = 0;
      upstream
        .on("error", () => {})
        .on("data", (piece: Buffer) => {
          passed += piece.length;
          socket.write(piece);
          if (passed < 6 << 20 || cuts === 2) return;
          cuts += 1;
          upstream.destroy();
          socket.end();
        });
      upstream.on("close", () => socket.end());
      socket.on("close", () => upstream.destroy());
    });
    cutter.listen(0, "127.0.0.1");
    await once(cutter, "listening");
    onTestFinished(() => void cutter.close());
    const { code, stderr, path } = await fetched((cutter.address() as AddressInfo).port, client);
    expect([code, stderr]).toEqual([0, ""]);
    expect(readFileSync(path).equals(bytes)).toBe(true);
    expect(ranges).toEqual([
      "all",
      expect.stringMatching(/^bytes=\d{6,}-$/),
      expect.stringMatching(/^bytes=\d{6,}-$/),
    ]);
  });

  test.each(["curl", "wget"] as const)(
    "waits for its turn as long as it is told to, with %s",
    async (client) => {
      const { port, bytes } = await serving();
      const held = Array.from({ length: 8 }, () =>
        request({ host: "127.0.0.1", port, path: "/agent/linux-x64", agent: false }).on("error", () => {}),
      );
      await Promise.all(held.map((each) => (each.end(), once(each, "response"))));
      const begunAt = performance.now();
      // Once it has been refused, there is a place.
      const { code, stderr, path } = await fetched(port, client, () =>
        held.forEach((each) => each.destroy()),
      );
      expect([code, stderr]).toEqual([0, "The server is busy; this waits for its turn.\n"]);
      expect(performance.now() - begunAt).toBeGreaterThan(10_000);
      expect(readFileSync(path).equals(bytes)).toBe(true);
    },
  );

  test("ends at once where there is no such agent", async () => {
    const server = await startServer({ storage: new MemoryStorage(), listen: { port: 0 } });
    onTestFinished(() => server.close());
    const { code, stderr } = await fetched(Number(new URL(server.url).port), "curl");
    expect([code, stderr]).toEqual([1, ""]);
  });
});

/**
 * Symptoms: an upgrade without a token said that the agent waits to be approved, and named whichever agent has its hostname; a token that
 * did not count was told as an installation like any other; an empty token, as of a variable that was never set, was no token.
 */
describe("what the script says in the end of who lets the agent in", () => {
  const enrolledBy = (token: string): string => {
    const token_hash = createHash("sha256").update(token).digest("hex");
    return seal({ version: 1, token_hash });
  };
  const said = (before: string | null, { token, after = "" }: { token: string; after?: string }): string => {
    const { etc } = settings(null);
    const state = join(etc, "state");
    mkdirSync(state);
    const [file = "", ofToken = ""] = before?.split(" of ") ?? [];
    if (before !== null) writeFileSync(join(state, file), enrolledBy(ofToken));
    const starts = `start() { ${after === "" ? "true" : `printf %s '${enrolledBy(after)}' > '${state}/enrolled.json'`}; }`;
    const does = `sleep() { :; }; state='${state}' token=${token}; ${starts}; known=$(known_agent); start; [ -n "$known" ] || tell_standing`;
    const { status, stdout, stderr } = spawnSync("sh", [], { input: scriptOf(etc, does), encoding: "utf8" });
    expect([status, stderr]).toEqual([0, ""]);
    return stdout;
  };

  test.each<[string, string | null, { token: string; after?: string }, string]>([
    [
      "a newcomer without a token waits",
      null,
      { token: "" },
      "It waits to be approved: fleetwright agents list --status pending\n",
    ],
    ["one that was here before is as it was", "identity.json", { token: "" }, ""],
    ["a token that counts is done with", null, { token: "fwt_x", after: "fwt_x" }, "It is approved.\n"],
    [
      "so is that of one that waited before",
      "identity.json",
      { token: "fwt_x", after: "fwt_x" },
      "It is approved.\n",
    ],
    ["one that came in by the token before is as it was", "enrolled.json of fwt_x", { token: "fwt_x" }, ""],
    [
      "one that came in by another before tells of the new one",
      "enrolled.json of fwt_y",
      { token: "fwt_x", after: "fwt_x" },
      "It is approved.\n",
    ],
  ])("%s", (_name, before, run, told) => {
    expect(said(before, run)).toBe(told);
  });

  test("a token that does not count is told, with where to look", () => {
    expect(said("enrolled.json of fwt_y", { token: "fwt_x" })).toMatch(
      /^It came in by another token before, .*\n$/,
    );
    for (const before of ["identity.json", null])
      expect(said(before, { token: "fwt_x" })).toMatch(
        /^It is not approved after 15 s: the token may be used up, .* agents list --status pending\n$/,
      );
  });

  test("an empty token is none, and ends the run before anything is done", () => {
    const { etc } = settings(null);
    const empty = join(etc, "empty");
    const harmless = "take_lock() { exit 9; }; place() { exit 9; }";
    writeFileSync(empty, "");
    const failed = (words: string): string =>
      spawnSync("sh", [], { input: scriptOf(etc, `${harmless}; main ${words}`), encoding: "utf8" }).stderr;
    expect(failed("--token ''")).toBe("install.sh: --token needs a value.\n");
    expect(failed(`--token-file ${empty}`)).toBe(`install.sh: ${empty} is empty.\n`);
    const run = (words: string): string => {
      const env = { ...process.env, FLEETWRIGHT_ENROLMENT_TOKEN: "" };
      const input = scriptOf(etc, `id() { echo 0; }; ${harmless}; main ${words}`);
      return spawnSync("sh", [], { input, env, encoding: "utf8" }).stderr;
    };
    expect(run("")).toBe("install.sh: FLEETWRIGHT_ENROLMENT_TOKEN is empty.\n");
    expect(run("--token fwt_x --no-start")).toBe("");
  });
});
