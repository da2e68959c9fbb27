import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { systemCaller, toHex } from "fleetwright";
import { findToken } from "../../../adapters/cli/work/agent-token.ts";
import { runIn, startCommandLine, startSignedIn } from "../../support/command-line.ts";
import { recordAnswers } from "../../support/sent-requests.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

describe("fleetwright enrol", () => {
  it("makes, lists, shows and revokes tokens; the token is printed once, with what a machine needs", async () => {
    const { print, run, server } = await startSignedIn();
    const tags = ["--tag", "role=web", "--tag", "env=prod"];
    const made = await print("enrol", "token", "--uses", "50", "--expires", "36h", "--name", "web", ...tags);
    const [token = ""] = /fwt_[\w-]{43}/.exec(made) ?? [];
    const [id = ""] = /[0-9a-f-]{36}/.exec(made) ?? [];
    const key = toHex(server.orchestrator.publicKey);
    const agent = `fleetwright agent --url ${server.url.replace(/\/$/, "")} --orchestrator-key ${key}`;
    // What is typed does not have the token, which a shell would keep in its history.
    expect(made.match(/^ {2}.*$/gm)).toEqual([
      "  (umask 077 && cat > fleetwright-token)",
      `  ${agent} --token-file fleetwright-token`,
      `  curl -fsS ${server.url.replace(/\/$/, "")}/install.sh | sudo sh -s -- --token-file fleetwright-token`,
    ]);
    expect(made.split(token)).toHaveLength(2);
    const stored = await server.orchestrator.enrolmentTokens.get(systemCaller, { id });
    expect(stored).toMatchObject({ uses: 50, tags: { role: "web", env: "prod" }, name: "web" });
    expect(Date.parse(stored.expires_at) - Date.parse(stored.created_at)).toBe(36 * 3_600_000);
    const later = [await print("enrol", "list", "-o", "wide"), await print("enrol", "show", id)];
    expect(later[0]).toMatch(new RegExp(`${id} +web +active +0 of 50 .*role=web, env=prod`));
    expect(later[1]).toMatch(/Used +0 of 50/);
    expect(await print("enrol", "revoke", "--yes", id)).toBe("The token is revoked.\n");
    expect(await print("enrol", "list")).toMatch(/revoked/);
    expect((await run("enrol", "revoke", "--yes", id)).stderr).toContain("INVALID_TRANSITION");
    expect(later.join()).not.toContain(token);
  });

  it("names the address that machines reach the server by, which need not be that of the operator", async () => {
    const { print, key, server } = await startCommandLine({ agentUrl: "wss://fleet.example/below/agent/v1" });
    await print("login", "--key", key);
    const made = await print("enrol", "token");
    expect(made).toContain("fleetwright agent --url wss://fleet.example/below/agent/v1 --orchestrator-key ");
    expect(made).toContain("curl -fsS https://fleet.example/below/install.sh | sudo sh");
    expect(made).not.toContain(new URL(server.url).host);
    expect(made).not.toContain("FLEETWRIGHT_AGENT_URL");
  });

  it("says that an address of the operator's own machine is none for others", async () => {
    const { print } = await startSignedIn();
    expect(await print("enrol", "token")).toContain("127.0.0.1 is this machine alone");
  });

  const startRecorded = (url: string, pins?: Record<string, string>) => {
    recordAnswers(({ to }) =>
      Response.json(
        to === "GET /status"
          ? { public_key: "a".repeat(64) }
          : { token: `fwt_${"x".repeat(43)}`, status: "active", tags: {}, uses: 1, used: 0 },
      ),
    );
    const folder = temporaryFolder();
    mkdirSync(join(folder, "home"));
    const profile = { url, key: "/none", token: "t", ...(pins && { orchestrator_keys: pins }) };
    writeFileSync(join(folder, "home", "profile.json"), JSON.stringify(profile));
    return async () => (await runIn(folder, ["enrol", "token"])).stdout;
  };

  it.each([
    ["http://localhost:4748", "localhost"],
    ["http://127.0.0.1:4748", "127.0.0.1"],
    ["http://127.1.2.3", "127.1.2.3"],
    ["http://[::1]:4748", "[::1]"],
    ["http://[::2]:4748", null],
    ["http://128.0.0.1", null],
    ["https://localhost.example", null],
    ["https://my-localhost", null],
  ])("says of %s whether it is one of this machine alone", async (url, told) => {
    const made = await startRecorded(url)();
    expect(made).toContain(`fleetwright agent --url ${url.includes("[") ? `'${url}'` : url} `);
    expect(/^(\S+) is this machine alone/m.exec(made)?.[1] ?? null).toBe(told);
  });

  it("names the key that is pinned for the server, whatever an answer on the way says", async () => {
    const url = "https://fleet.example";
    const [told, pinned, other] = ["a", "b", "c"].map((digit) => digit.repeat(64));
    expect(await startRecorded(url)()).toContain(`--orchestrator-key ${told}`);
    const made = await startRecorded(url, { [url]: pinned!, "https://other.example": other! })();
    expect(made).toContain(`--orchestrator-key ${pinned}`);
    expect(made).not.toContain(told);
  });

  it("answers programs with what the API answers", async () => {
    const { print } = await startSignedIn();
    const made = JSON.parse(await print("enrol", "token", "--json")) as { token: string; uses: number };
    expect(made).toMatchObject({ uses: 1, token: expect.stringMatching(/^fwt_/) as string });
  });

  it.each([
    [["--uses", "0"], "1 to 100000"],
    [["--expires", "soon"], "30m, 6h or 2d"],
    [["--expires", "400d"], "expires_in_seconds"],
    [["--tag", "role"], "key=value"],
  ])("refuses %s", async (given, told) => {
    const { run, server } = await startSignedIn();
    const { code, stderr } = await run("enrol", "token", ...given);
    expect(code).not.toBe(0);
    expect(stderr).toContain(told);
    expect((await server.orchestrator.enrolmentTokens.list(systemCaller)).items).toEqual([]);
  });
});

describe("the token of fleetwright agent", () => {
  const context = (environment: Record<string, string>) => ({
    environment,
    readInput: () => Promise.resolve(""),
  });
  const orchestratorKey = "0".repeat(64);
  const token = `fwt_${"a".repeat(43)}`;
  const variable = { FLEETWRIGHT_ENROLMENT_TOKEN: `${token}\n` };

  it("comes from the option, the file or the variable, in this order", async () => {
    const tokenFile = join(temporaryFolder(), "token");
    writeFileSync(tokenFile, `${token}-of-file\n`);
    const find = (given: object, environment = {}) =>
      findToken(context(environment), { orchestratorKey, ...given });
    expect(await find({})).toEqual({});
    expect(await find({}, variable)).toEqual({ token });
    expect(await find({}, { FLEETWRIGHT_ENROLMENT_TOKEN: "" })).toEqual({});
    expect(await find({ tokenFile }, variable)).toEqual({ token: `${token}-of-file` });
    expect(await find({ token: "given" }, variable)).toEqual({ token: "given" });
  });

  it("is left out, with a warning that does not repeat it, where a file is gone or holds something else", async () => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, "two"), "fwt_one\nfwt_two\n");
    for (const tokenFile of [join(folder, "none"), join(folder, "two")]) {
      const found = await findToken(context({}), { orchestratorKey, tokenFile });
      expect(found.token).toBeUndefined();
      expect(found.warning).toContain(tokenFile);
      expect(found.warning).not.toContain("fwt_");
    }
  });

  it("needs the key of the server that may have it", async () => {
    await expect(findToken(context(variable), {})).rejects.toThrow("--orchestrator-key");
    const { run } = await startSignedIn();
    const { code, stderr } = await run("agent", "--token", token);
    expect([code, stderr]).toEqual([2, expect.stringContaining("--orchestrator-key")]);
    expect(stderr).not.toContain(token);
  });
});
