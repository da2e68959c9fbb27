/** The agent as a service of a machine that systemd has booted, with a server outside; systemctl says what came of it. */
import { join } from "node:path";
import { expect, test } from "vitest";
import { describeOnThrowawayMachine } from "../support/machine/on-throwaway-machine.ts";
import { sourceFolder } from "../support/machine/throwaway-machine.ts";
import { eventually, startServerProcess } from "../support/processes.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const agentUnit = (url: string): string => `[Service]
ExecStart=${process.execPath} ${sourceFolder}/dist/program/main.js agent --url ${url} --state-dir /var/lib/fleetwright
Restart=always
RestartSec=100ms
[Install]
WantedBy=multi-user.target
`;

const module = `name: site
resources:
  - { type: hostname, name: web-1.example.org }
  - { type: timezone, name: Asia/Tokyo }
  - id: unit
    type: systemd_unit
    name: site.service
    content: |
      [Service]
      ExecStart=/bin/sleep infinity
      [Install]
      WantedBy=multi-user.target
  - { id: site, type: service, name: site, running: true, enabled: true, restart_on: [unit] }
`;

describeOnThrowawayMachine(
  "an agent, with systemd",
  {
    paths: ["/lib/systemd/systemd", "/usr/share/zoneinfo/Asia/Tokyo"],
    machine: { init: "systemd", network: "shared" },
  },
  (machine) => {
    const systemctl = (...args: string[]): string =>
      machine()
        .run("systemctl", ...args)
        .stdout.trim();

    test("makes services, mends them after a power cut, and takes them away", async () => {
      await using server = await startServerProcess(join(temporaryFolder(), "data"));
      const { client } = server;
      machine().write("/etc/systemd/system/fleetwright-agent.service", agentUnit(server.url));
      machine().output("systemctl", "daemon-reload");
      machine().output("systemctl", "enable", "--now", "fleetwright-agent");
      let nodeId = "";
      await eventually("the agent is known", async () => {
        nodeId = (await client.agents.list()).items[0]?.node_id ?? "";
        return nodeId !== "";
      });
      await client.agents.setStatus(nodeId, { status: "approved", name: "web-1" });
      await client.modules.upload({ content: module });
      await client.assignments.create({ name: "site", selector: "*", modules: ["site"] });

      expect(await client.assignments.apply("site")).toMatchObject({ status: "succeeded" });
      expect([systemctl("is-active", "site"), systemctl("is-enabled", "site")]).toEqual([
        "active",
        "enabled",
      ]);
      expect(machine().output("hostname").trim()).toBe("web-1.example.org");
      expect(machine().output("date", "--date=@0", "+%H").trim()).toBe("09");
      expect(await client.state.apply(nodeId)).toMatchObject({ counts: { unchanged: 4, changed: 0 } });

      // What the agent started is not its own: it outlives it.
      const pid = systemctl("show", "--property=MainPID", "--value", "site");
      const agentPid = (): string => systemctl("show", "--property=MainPID", "--value", "fleetwright-agent");
      const killed = agentPid();
      machine().output("systemctl", "kill", "--signal=KILL", "fleetwright-agent");
      // Until then the server may take the connection of the one that was killed for that of the next.
      await eventually("another agent runs", () => !["0", killed].includes(agentPid()));
      await eventually("the agent is back", async () => (await client.agents.get(nodeId)).connected);
      expect(systemctl("show", "--property=MainPID", "--value", "site")).toBe(pid);

      machine().output("systemctl", "disable", "site");
      await machine().restart();
      await eventually("the agent is back", async () => (await client.agents.get(nodeId)).connected);
      expect(systemctl("is-active", "site")).toBe("inactive");
      const drift = await client.drift.check(nodeId);
      const found = drift.resources.flatMap(({ changes }) => changes.map(({ property }) => property));
      expect([drift.status, found]).toEqual(["drifted", ["enabled", "running"]]);
      expect(await client.state.apply(nodeId)).toMatchObject({
        status: "succeeded",
        counts: { changed: 1 },
      });
      expect([systemctl("is-active", "site"), systemctl("is-enabled", "site")]).toEqual([
        "active",
        "enabled",
      ]);

      await client.assignments.remove("site");
      expect(await client.state.apply(nodeId, { allow_empty: true })).toMatchObject({ status: "succeeded" });
      expect(systemctl("show", "--property=LoadState,ActiveState", "--value", "site")).toBe(
        "not-found\ninactive",
      );
    });
  },
);
