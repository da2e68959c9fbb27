/** The agent arrives where systemd is not: with OpenRC, and with the init scripts of System V. */
import { describe, expect, test } from "vitest";
import { files } from "../../packaging/agent/version-folder.ts";
import {
  agentManifest,
  applied,
  arrived,
  filesOf,
  install,
  startArrivalScene,
} from "../support/machine/arrival.ts";
import { describeOnThrowawayMachine } from "../support/machine/on-throwaway-machine.ts";
import type { ThrowawayMachine } from "../support/machine/throwaway-machine.ts";
import { eventually } from "../support/processes.ts";

const packages =
  process.env["FLEETWRIGHT_OPENRC_PACKAGES"] ?? "/the folder that FLEETWRIGHT_OPENRC_PACKAGES names";

describe("without systemd", () => {
  describeOnThrowawayMachine(
    "the agent arrives, with OpenRC",
    {
      paths: [packages, agentManifest],
      programs: ["curl"],
      machine: { init: "openrc", packages, network: "shared" },
    },
    (machine) => aLifeOf(machine),
  );
  describeOnThrowawayMachine(
    "the agent arrives, with System V",
    {
      paths: [agentManifest, "/sbin/start-stop-daemon"],
      programs: ["curl", "update-rc.d"],
      machine: { init: "reaper", network: "shared" },
    },
    (machine) => aLifeOf(machine),
  );
});

function aLifeOf(machine: () => ThrowawayMachine): void {
  test("it is started, comes back when it is killed, and is gone when it is uninstalled", async () => {
    await using scene = await startArrivalScene();
    const { client } = scene.server;
    const before = filesOf(machine());
    const first = install(machine(), scene, `--token ${scene.token}`);
    // OpenRC complains of other services of the copy.
    expect(first.status, first.stderr).toBe(0);
    const nodeId = await arrived(scene.server);
    await applied(scene, nodeId);
    expect(machine().output("ps", "-eo", "args")).not.toContain(scene.token);
    expect(machine().output("stat", "-c", "%a", "/var/lib/fleetwright-agent")).toBe("700\n");

    const pids = () =>
      machine().run("pgrep", "-f", "^/opt/fleetwright-agent/current/fleetwright-agent").stdout;
    const known = pids();
    machine().output("kill", "-9", ...known.trim().split("\n"));
    await eventually("another one runs", () => pids() !== known && pids() !== "");
    await eventually("it is back", async () => (await client.agents.get(nodeId)).connected);
    expect(machine().output("/etc/init.d/fleetwright-agent", "restart")).toBeDefined();
    expect(await arrived(scene.server)).toBe(nodeId);

    // A supervisor that was killed leaves its agent; the next start ends that one, so that there are never two.
    const killSupervisor = (): void =>
      void machine().output("sh", "-c", "kill -9 $(cat /run/fleetwright-agent.pid)");
    killSupervisor();
    const left = pids();
    expect(left).not.toBe("");
    machine().run("/etc/init.d/fleetwright-agent", "restart");
    await eventually("another one runs, alone", () => {
      const found = pids().trim().split("\n");
      return found.length === 1 && found[0] !== left.trim() && found[0] !== "";
    });
    await eventually("it is back", async () => (await client.agents.get(nodeId)).connected);
    killSupervisor();
    machine().run("/etc/init.d/fleetwright-agent", "stop");
    expect(pids()).toBe("");
    machine().run("/etc/init.d/fleetwright-agent", "start");
    expect(await arrived(scene.server)).toBe(nodeId);

    // The log of an agent that says much is cut while it runs.
    const log = "/var/log/fleetwright-agent.log";
    machine().output("sh", "-c", `head -c 12000000 /dev/zero >> ${log}`);
    const sizeOf = (path: string): number => Number(machine().output("stat", "-c", "%s", path));
    await eventually("the log is short again", () => sizeOf(log) < 1_000_000);
    expect(sizeOf(`${log}.1`)).toBeGreaterThan(11_000_000);
    expect(machine().output("stat", "-c", "%a", log, `${log}.1`)).toBe("600\n600\n");

    const gone = install(machine(), scene, "--uninstall");
    expect(gone.status, gone.stderr).toBe(0);
    expect(pids()).toBe("");
    machine().output("rm", "/srv/arrived");
    expect(filesOf(machine())).toEqual(before);
  });
}

describeOnThrowawayMachine("the supervisor", { machine: { init: "reaper" } }, (machine) => {
  test("loses no signal that comes before it knows its program", () => {
    // The signal comes at the worst moment: the program runs, and its number is not noted yet.
    const script = [
      "printf '#!/bin/sh\\nexec sleep 1000\\n' > /tmp/program && chmod 755 /tmp/program",
      `sed 's/^  agent=\\$!/  kill -TERM $$; agent=$!/' ${files}/supervise > /tmp/supervise`,
      "timeout 20 sh /tmp/supervise /tmp/program --state-dir /var/lib/fleetwright-agent",
      "echo $?",
      "pgrep -xf 'sleep 1000' || true",
    ];
    expect(machine().output("sh", "-c", script.join("\n"))).toBe("0\n");
  });
});
