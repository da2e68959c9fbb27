/** The agent arrives from a server whose certificate only its own authority vouches for: `--ca-file`. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { arrivalNeeds, builtAgent, filesOf, startArrivalScene } from "../support/machine/arrival.ts";
import { describeOnThrowawayMachine } from "../support/machine/on-throwaway-machine.ts";
import { eventually, Program, startServerProcess } from "../support/processes.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

describeOnThrowawayMachine(
  "the agent arrives from a server with its own certificate",
  arrivalNeeds,
  (machine) => {
    test("by the authority that it was given, of which it keeps a copy", async () => {
      const dataDir = join(temporaryFolder(), "data");
      let token = "";
      {
        await using scene = await startArrivalScene({ dataDir });
        ({ token } = scene);
      }
      const before = filesOf(machine());
      {
        const flags = ["--agent-dir", builtAgent, "--tls", "self-signed"];
        await using server = await startServerProcess(dataDir, 0, {}, flags);
        expect(server.url).toMatch(/^https:/);
        const authority = readFileSync(join(dataDir, "tls/ca.pem"), "utf8");
        machine().output("sh", "-c", `printf %s '${authority}' > /tmp/fleet.pem`);
        const run = (options: string) =>
          machine().run(
            "sh",
            "-c",
            `curl -fsS --cacert /tmp/fleet.pem ${server.url}/install.sh | sh -s -- ${options}`,
          );

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
        const environment = {
          HOME: temporaryFolder(),
          FLEETWRIGHT_URL: server.url,
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
          return items.some(
            ({ status, connected, tags }) => status === "approved" && connected && "role" in tags,
          );
        });
      }
      expect(machine().run("sh", "/opt/fleetwright-agent/current/uninstall").status).toBe(0);
      expect(filesOf(machine())).toEqual(before);
    });
  },
);
