import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { MemoryStorage, toHex } from "fleetwright";
import { startServer } from "fleetwright/h3";
import { shellText } from "../../../adapters/h3/install-script.ts";
import { send } from "../../support/http.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const sha256 = "5".repeat(64);

/** A folder as `npm run build:agent` leaves it. */
function builtFolder(manifest: unknown = undefined): string {
  const folder = join(temporaryFolder(), "agent");
  mkdirSync(folder);
  const artifacts = [{ platform: "linux-x64", file: "agent.tar.gz", sha256, size: 5 }];
  writeFileSync(join(folder, "agent.tar.gz"), "bytes");
  writeFileSync(join(folder, "manifest.json"), JSON.stringify(manifest ?? { version: "1.2.3", artifacts }));
  return folder;
}

async function start(options: Partial<Parameters<typeof startServer>[0]> = {}) {
  const server = await startServer({ storage: new MemoryStorage(), listen: { port: 0 }, ...options });
  onTestFinished(() => server.close());
  const port = Number(new URL(server.url).port);
  const get = (path: string, headers: Record<string, string> = {}, method = "GET") =>
    send(port, { path, headers, method });
  return { ...server, get, key: toHex(server.orchestrator.publicKey) };
}

/** What the shell makes of the variables at the head of the script. */
function variablesOf(script: string): string[] {
  const head = script.slice(0, script.indexOf("usage()"));
  return execFileSync("sh", [
    "-c",
    `${head}\nprintf '%s\\n' "$server" "$agent_url" "$orchestrator_key" "$version"`,
  ])
    .toString()
    .trim()
    .split("\n");
}

describe("GET /install.sh", () => {
  test("is a script for the server that was asked, with its key and the hash of each agent", async () => {
    const { get, url, agentUrl, key } = await start({ agentDir: builtFolder() });
    const { status, text, headers } = await get("/install.sh", { host: new URL(url).host });
    expect(status).toBe(200);
    expect(headers).toMatchObject({
      "content-type": "text/x-shellscript; charset=utf-8",
      "cache-control": "no-store",
    });
    expect(variablesOf(text)).toEqual([url, agentUrl, key, "1.2.3"]);
    expect(text).toContain(`linux-x64) sha256='${sha256}' ;;`);
    for (const shell of ["sh", "bash"]) expect(spawnSync(shell, ["-n"], { input: text }).status).toBe(0);
  });

  test("names the address that was set, whatever host was asked", async () => {
    const agentUrl = "wss://fleet.example:8443/base/agent/v1";
    const { get } = await start({ agentDir: builtFolder(), agentUrl });
    const { text } = await get("/install.sh", { host: "evil.example" });
    expect(variablesOf(text).slice(0, 2)).toEqual(["https://fleet.example:8443/base", agentUrl]);
    expect(text).not.toContain("evil.example");
  });

  test.each([
    ["wss://fleet.example", "https://fleet.example"],
    ["wss://fleet.example/", "https://fleet.example"],
    ["ws://fleet.example:4748/agent/v1", "http://fleet.example:4748"],
    ["wss://fleet.example/base/agent/v1", "https://fleet.example/base"],
    ["wss://fleet.example/base/agent/v1/", "https://fleet.example/base"],
  ])("says how to run it again where agents connect to %s", async (agentUrl, baseUrl) => {
    const { get } = await start({ agentDir: builtFolder(), agentUrl });
    const { text } = await get("/install.sh");
    const refused = text.replace('"$(id -u)" = 0', '"" = 0');
    // Else it would install something.
    expect(refused).not.toBe(text);
    const { status, stderr } = spawnSync("sh", [], { input: refused, encoding: "utf8" });
    expect([status, stderr]).toEqual([
      1,
      `install.sh: it must be root: curl -fsS ${baseUrl}/install.sh | sudo sh -s -- ...\n`,
    ]);
  });

  test.each(["a$(id).example", "a'b", "a`id`", "a b", 'a"b', "a\\b", "a;b", "a|b", "a&b", "a$b"])(
    "refuses the host %s",
    async (host) => {
      const { get } = await start({ agentDir: builtFolder() });
      const { status, text } = await get("/install.sh", { host });
      expect(status).toBe(400);
      expect(text).not.toContain("#!/bin/sh");
    },
  );

  test.each([
    [{ "x-forwarded-proto": "https" }, ["127.0.0.1"], "https"],
    [{ "x-forwarded-proto": "https" }, [], "http"],
    [{}, ["127.0.0.1"], "http"],
    [{ "x-forwarded-proto": "http" }, ["127.0.0.1"], "http"],
    // What the proxy that is trusted wrote stands last; what stands before, anybody may have sent.
    [{ "x-forwarded-proto": "https, http" }, ["127.0.0.1"], "http"],
    [{ "x-forwarded-proto": "http, HTTPS " }, ["127.0.0.1"], "https"],
    [{ "x-forwarded-proto": "https" }, ["127.0.0.2"], "http"],
  ])("believes %j of a proxy in %j: %s", async (given, trustedProxies, scheme) => {
    const { get } = await start({ agentDir: builtFolder(), trustedProxies });
    const { text } = await get("/install.sh", { host: "fleet.example", ...given });
    expect(variablesOf(text)[0]).toBe(`${scheme}://fleet.example`);
  });

  test("leaves no text to the shell", () => {
    const hostile = `a'; $(touch /tmp/x) \`id\` "b" \\ $HOME`;
    expect(execFileSync("sh", ["-c", `printf %s ${shellText(hostile)}`]).toString()).toBe(hostile);
  });

  test("is of no agent whose hash is in capitals, which no machine finds it to have", async () => {
    const artifacts = [{ platform: "node", file: "agent.tar.gz", sha256: "A".repeat(64), size: 5 }];
    const { get } = await start({ agentDir: builtFolder({ version: "1.2.3", artifacts }) });
    expect((await get("/install.sh")).text).toContain("No agent was built");
    expect((await get("/agent/node")).status).toBe(404);
  });

  test.each<[string, unknown]>([
    ["nothing was built", null],
    ["a list of nothing", { version: "1.2.3", artifacts: [] }],
    [
      "a version that is a command",
      { version: "1.2.3$(id)", artifacts: [{ platform: "node", file: "a", sha256, size: 1 }] },
    ],
    ["a file elsewhere", { version: "1", artifacts: [{ platform: "node", file: "../a", sha256, size: 1 }] }],
    ...["x", `${sha256}; id`, `x${sha256}`, sha256.replace(/^./, "g"), null].map(
      (hash): [string, unknown] => [
        `a hash that is none, ${hash}`,
        { version: "1", artifacts: [{ platform: "node", file: "a", sha256: hash, size: 1 }] },
      ],
    ),
    [
      "a size that is none",
      { version: "1", artifacts: [{ platform: "node", file: "a", sha256, size: "1" }] },
    ],
  ])("is a script that fails and says why: %s", async (_name, manifest) => {
    const { get } = await start(manifest === null ? {} : { agentDir: builtFolder(manifest) });
    const { text } = await get("/install.sh");
    // A script that takes the manifest after all finds nothing to install with.
    const env = { PATH: "/nonexistent" };
    const { status, stderr } = spawnSync("/bin/sh", [], { input: text, encoding: "utf8", env });
    expect([status, stderr]).toEqual([
      1,
      expect.stringMatching(/^install\.sh: No agent was built .*build:agent.*FLEETWRIGHT_AGENT_DIR.*\n$/),
    ]);
    const answer = await get("/agent/linux-x64");
    expect([answer.status, answer.json]).toEqual([404, expect.objectContaining({ code: "NOT_FOUND" })]);
  });
});

describe("GET /agent/{platform}", () => {
  test("answers the file, and its head", async () => {
    const { get } = await start({ agentDir: builtFolder() });
    const headers = {
      "content-length": "5",
      etag: `"${sha256}"`,
      "content-disposition": 'attachment; filename="agent.tar.gz"',
    };
    expect(await get("/agent/linux-x64")).toMatchObject({ status: 200, text: "bytes", headers });
    expect(await get("/agent/linux-x64", {}, "HEAD")).toMatchObject({ status: 200, text: "", headers });
    expect((await get("/agent/linux-x64", {}, "POST")).status).toBe(405);
  });

  test("says what there is where it has not what was asked for", async () => {
    const { get } = await start({ agentDir: builtFolder() });
    const { status, json } = await get("/agent/linux-riscv64");
    expect([status, json]).toEqual([
      404,
      expect.objectContaining({ detail: expect.stringContaining("linux-x64") as string }),
    ]);
  });

  test("refuses a file that is not as long as it was, and finds a new build without a new start", async () => {
    const agentDir = builtFolder();
    const { get } = await start({ agentDir });
    writeFileSync(join(agentDir, "agent.tar.gz"), "other bytes");
    expect((await get("/agent/linux-x64")).json).toMatchObject({ code: "UNAVAILABLE" });
    const artifacts = [{ platform: "linux-x64", file: "agent.tar.gz", sha256, size: 11 }];
    writeFileSync(join(agentDir, "manifest.json"), JSON.stringify({ version: "1.2.4", artifacts }));
    expect((await get("/agent/linux-x64")).text).toBe("other bytes");
  });
});
