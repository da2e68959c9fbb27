/** The agent restarts the service in which it runs, on a machine that OpenRC has booted, with a server outside. */
import { join } from "node:path";
import { expect, test } from "vitest";
import { describeOnThrowawayMachine } from "../support/machine/on-throwaway-machine.ts";
import { sourceFolder } from "../support/machine/throwaway-machine.ts";
import { eventually, startServerProcess } from "../support/processes.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

/** Debian's OpenRC can't stand beside the init system of a machine that is to be kept, so it is installed in the copy. */
const packages =
  process.env["FLEETWRIGHT_OPENRC_PACKAGES"] ?? "/the folder that FLEETWRIGHT_OPENRC_PACKAGES names";

const agentScript = (url: string): string => `#!/sbin/openrc-run
command=${process.execPath}
command_args="${sourceFolder}/dist/program/main.js agent --url ${url} --state-dir /var/lib/fleetwright"
command_background=true
pidfile=/run/agent/own.pid
retry=TERM/30/KILL/5
start_pre() { mkdir -p /run/agent; }
`;

const moduleOf = (value: string): string => `name: site
resources:
  - { id: setting, type: file, path: /etc/conf.d/fleetwright-agent, content: "export SETTING=${value}\\n" }
  - { id: agent, type: service, name: fleetwright-agent, running: true, restart_on: [setting] }
  - { id: behind, type: file, path: /srv/behind, content: "${value}", requires: [agent] }
`;

describeOnThrowawayMachine(
  "an agent that restarts its own service, with OpenRC",
  { paths: [packages], machine: { init: "openrc", packages, network: "shared" } },
  (machine) => {
    const pid = (): string => machine().run("cat", "/run/agent/own.pid").stdout.trim();
    const setting = (): string | undefined => {
      const { stdout } = machine().run("cat", `/proc/${pid()}/environ`);
      return stdout.split("\0").find((each) => each.startsWith("SETTING="));
    };

    test("does so last, and tells that it succeeded", async () => {
      await using server = await startServerProcess(join(temporaryFolder(), "data"));
      const { client } = server;
      machine().write("/etc/init.d/fleetwright-agent", agentScript(server.url), 0o755);
      machine().output("mkdir", "-p", "/etc/conf.d");
      machine().output("rc-update", "--update");
      machine().output("rc-service", "fleetwright-agent", "start");
      try {
        let nodeId = "";
        await eventually("the agent is known", async () => {
          nodeId = (await client.agents.list()).items[0]?.node_id ?? "";
          return nodeId !== "";
        });
        await client.agents.setStatus(nodeId, { status: "approved", name: "web-1" });
        await client.modules.upload({ content: moduleOf("one") });
        await client.assignments.create({ name: "site", selector: "*", modules: ["site"] });
        const before = pid();
        const { operation_id } = await client.state.apply(nodeId);
        const applied = await client.operations.get(operation_id);
        expect(applied).toMatchObject({ status: "succeeded", counts: { changed: 3, failed: 0 } });
        expect(applied.resources.at(-1)).toMatchObject({ resource_id: "agent", action: "restart" });
        expect(pid()).not.toBe(before);
        expect(setting()).toBe("SETTING=one");
        expect(machine().exitCode("rc-service", "fleetwright-agent", "status")).toBe(0);
        expect(await client.state.apply(nodeId)).toMatchObject({ counts: { unchanged: 3, changed: 0 } });
      } finally {
        machine().run("rc-service", "fleetwright-agent", "stop");
      }
    });
  },
);
