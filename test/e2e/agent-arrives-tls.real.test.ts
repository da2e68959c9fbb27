/** The agent arrives from a server whose certificate only its own authority vouches for: by `--ca-file`, or as the machine trusts it. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { arrivalNeeds, builtAgent, filesOf, startArrivalScene } from "../support/machine/arrival.ts";
import { describeOnThrowawayMachine } from "../support/machine/on-throwaway-machine.ts";
import { eventually, Program, startServerProcess } from "../support/processes.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const flags = ["--agent-dir", builtAgent, "--tls", "self-signed"];

/** A folder of data with all that the arrival needs, and its token. */
async function prepareData(): Promise<{ dataDir: string; token: string }> {
  const dataDir = join(temporaryFolder(), "data");
  await using scene = await startArrivalScene({ dataDir });
  return { dataDir, token: scene.token };
}

/** Waits until the server has an approved and tagged agent that is connected. */
async function gotIn(url: string, dataDir: string): Promise<void> {
  const environment = {
    HOME: temporaryFolder(),
    FLEETWRIGHT_URL: url,
    NODE_EXTRA_CA_CERTS: join(dataDir, "tls/ca.pem"),
  };
  const print = async (...args: string[]): Promise<string> => {
    await using program = new Program(args, environment);
    expect(await program.exited(), program.stderr).toBe(0);
    return program.stdout;
  };
  await print("login", "--key", join(dataDir, "admin-key"));
  await eventually("the agent has got in", async () => {
    const { items } = JSON.parse(await print("agents", "list", "--json")) as {
      items: { status: string; connected: boolean; tags: object }[];
    };
    return items.some(({ status, connected, tags }) => status === "approved" && connected && "role" in tags);
  });
}

describeOnThrowawayMachine(
  "the agent arrives from a server with its own certificate",
  { ...arrivalNeeds, programs: ["curl", "update-ca-certificates"] },
  (machine) => {
    const installFrom = (url: string, options: string, certificates: string) =>
      machine().run("sh", "-c", `curl -fsS ${certificates} ${url}/install.sh | sh -s -- ${options}`);

    test("by the authority that it was given, of which it keeps a copy", async () => {
      const { dataDir, token } = await prepareData();
      const before = filesOf(machine());
      {
        await using server = await startServerProcess(dataDir, 0, {}, flags);
        expect(server.url).toMatch(/^https:/);
        const authority = readFileSync(join(dataDir, "tls/ca.pem"), "utf8");
        machine().output("sh", "-c", `printf %s '${authority}' > /tmp/fleet.pem`);
        const run = (options: string) => installFrom(server.url, options, "--cacert /tmp/fleet.pem");

        const distrusting = run(`--token ${token}`);
        expect([distrusting.status, distrusting.stderr]).toEqual([1, expect.stringContaining("certificate")]);
        const missing = run("--ca-file /tmp/nowhere.pem");
        expect([missing.status, missing.stderr]).toEqual([1, expect.stringContaining("can't be read")]);
        machine().output("rm", "/tmp/fleet.pem");
        expect(filesOf(machine())).toEqual(before);

        machine().output("sh", "-c", `printf %s '${authority}' > /tmp/fleet.pem`);
        const first = run(`--token ${token} --ca-file /tmp/fleet.pem`);
        expect([first.status, first.stderr]).toEqual([0, ""]);
        machine().output("rm", "/tmp/fleet.pem");
        expect(machine().output("cat", "/etc/fleetwright-agent/ca.pem")).toBe(authority);
        await gotIn(server.url, dataDir);
      }
      expect(machine().run("sh", "/opt/fleetwright-agent/current/uninstall").status).toBe(0);
      expect(filesOf(machine())).toEqual(before);
    });

    test("by an authority that the machine trusts, as curl does", async () => {
      const { dataDir, token } = await prepareData();
      await using server = await startServerProcess(dataDir, 0, {}, flags);
      const authority = readFileSync(join(dataDir, "tls/ca.pem"), "utf8");
      machine().write("/usr/local/share/ca-certificates/fleet.crt", authority);
      machine().output("update-ca-certificates");
      const before = filesOf(machine());
      const first = installFrom(server.url, `--token ${token}`, "");
      expect([first.status, first.stderr]).toEqual([0, ""]);
      await gotIn(server.url, dataDir);
      expect(machine().run("sh", "/opt/fleetwright-agent/current/uninstall").status).toBe(0);
      expect(filesOf(machine())).toEqual(before);
    });
  },
);
