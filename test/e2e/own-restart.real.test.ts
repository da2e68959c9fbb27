/** The agent restarts the unit in which it runs, on a machine that systemd has booted, with a server outside. */
import { join } from "node:path";
import { expect, test } from "vitest";
import { describeOnThrowawayMachine } from "../support/machine/on-throwaway-machine.ts";
import { sourceFolder } from "../support/machine/throwaway-machine.ts";
import { eventually, startServerProcess } from "../support/processes.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const agentUnit = (url: string, more: string): string => `[Service]
ExecStart=${process.execPath} ${sourceFolder}/dist/program/main.js agent --url ${url} --state-dir /var/lib/fleetwright-%i
Restart=always
RestartSec=100ms
${more}
[Install]
WantedBy=multi-user.target
`;

const moduleOf = (unit: string, value: string, service: string): string => `name: site
resources:
  - id: setting
    type: systemd_unit
    name: ${unit}.service
    drop_in: setting.conf
    content: |
      [Service]
      Environment=SETTING=${value}
  - { id: agent, type: service, name: ${unit}, ${service} }
  - { id: behind, type: file, path: /srv/${unit}, content: "${value}", requires: [agent] }
`;

type Client = Awaited<ReturnType<typeof startServerProcess>>["client"];

/** Longer than an agent needs to come back, and less than systemd waits for one that does not stop. */
const withinMs = 45_000;

const units: [name: string, unit: string, more: string][] = [
  ["a plain unit", "fleetwright-agent@plain", ""],
  ["the unit of the manual", "fleetwright-agent@manual", "Delegate=yes\nKillMode=process"],
];

describeOnThrowawayMachine(
  "an agent that restarts its own unit, with systemd",
  { paths: ["/lib/systemd/systemd"], machine: { init: "systemd", network: "shared" } },
  (machine) => {
    const show = (unit: string, property: string): string =>
      machine().run("systemctl", "show", `--property=${property}`, "--value", unit).stdout.trim();
    const settingOf = (unit: string): string => {
      const { stdout } = machine().run("cat", `/proc/${show(unit, "MainPID")}/environ`);
      return stdout.split("\0").find((each) => each.startsWith("SETTING=")) ?? "";
    };

    /** Runs an approved agent in a unit. */
    const withAgent = async (
      { unit, more }: { unit: string; more: string },
      act: (client: Client, nodeId: string) => Promise<void>,
    ): Promise<void> => {
      await using server = await startServerProcess(join(temporaryFolder(), "data"));
      const { client } = server;
      machine().write("/etc/systemd/system/fleetwright-agent@.service", agentUnit(server.url, more));
      machine().output("systemctl", "daemon-reload");
      machine().output("systemctl", "enable", "--now", unit);
      try {
        let nodeId = "";
        await eventually("the agent is known", async () => {
          nodeId = (await client.agents.list()).items[0]?.node_id ?? "";
          return nodeId !== "";
        });
        await client.agents.setStatus(nodeId, { status: "approved", name: "web-1" });
        await act(client, nodeId);
      } finally {
        machine().run("systemctl", "disable", "--now", unit);
      }
    };

    test.each(units)("does so last, and tells that it succeeded: %s", (_name, unit, more) =>
      withAgent({ unit, more }, async (client, nodeId) => {
        const following = "running: true, restart_on: [setting]";
        await client.modules.upload({ content: moduleOf(unit, "one", following) });
        await client.assignments.create({ name: "site", selector: "*", modules: ["site"] });

        const detail = ({ operation_id }: { operation_id: string }) => client.operations.get(operation_id);
        const planned = await detail(await client.state.plan(nodeId));
        const order = ["setting", "behind", "agent"];
        expect(planned.resources.map(({ resource_id }) => resource_id)).toEqual(order);
        expect(planned.resources.at(-1)).toMatchObject({ outcome: "would_change", action: "restart" });

        const [run, pid] = [show(unit, "InvocationID"), show(unit, "MainPID")];
        const begun = performance.now();
        const applied = await detail(await client.state.apply(nodeId));
        expect(performance.now() - begun).toBeLessThan(withinMs);
        expect(applied).toMatchObject({ status: "succeeded", counts: { changed: 3, failed: 0 } });
        expect(applied.resources.map(({ resource_id }) => resource_id)).toEqual(order);
        expect(applied.resources.at(-1)).toMatchObject({ action: "restart", caused_by: ["setting"] });
        expect(show(unit, "InvocationID")).not.toBe(run);
        expect(show(unit, "MainPID")).not.toBe(pid);
        expect([settingOf(unit), show(unit, "NRestarts"), show(unit, "Result")]).toEqual([
          "SETTING=one",
          "0",
          "success",
        ]);

        // Once is enough.
        const known = show(unit, "InvocationID");
        expect(await client.state.apply(nodeId)).toMatchObject({ counts: { unchanged: 3, changed: 0 } });
        expect((await client.drift.check(nodeId)).status).toBe("in_sync");
        expect(show(unit, "InvocationID")).toBe(known);

        await client.modules.upload({ content: moduleOf(unit, "one", "running: false") });
        const stopped = await detail(await client.state.apply(nodeId));
        expect(stopped.resources.find(({ resource_id }) => resource_id === "agent")).toMatchObject({
          outcome: "failed",
          code: "OWN_SERVICE",
          message: expect.stringContaining("it is not stopped"),
        });
        expect(show(unit, "ActiveState")).toBe("active");
        expect(show(unit, "InvocationID")).toBe(known);
      }),
    );

    test("ends interrupted, once systemd has lost patience, where a script does it", () => {
      const unit = "fleetwright-agent@script";
      const more = `${units[1]?.[2]}\nTimeoutStopSec=5`;
      return withAgent({ unit, more }, async (client, nodeId) => {
        const script = `name: site\nresources:\n  - { id: own, type: script, run: systemctl restart ${unit}, creates: /srv/never }\n`;
        await client.modules.upload({ content: script });
        await client.assignments.create({ name: "site", selector: "*", modules: ["site"] });
        const run = show(unit, "InvocationID");
        expect((await client.state.apply(nodeId)).status).toBe("interrupted");
        expect(show(unit, "InvocationID")).not.toBe(run);
      });
    });
  },
);
