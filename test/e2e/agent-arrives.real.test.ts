/** From a machine without an agent to one that was applied, by script, deb and rpm, and back to nothing. */
import { readFileSync, writeFileSync } from "node:fs";
import { beforeEach, describe, expect, test } from "vitest";
import {
  activityOf,
  agentHome,
  allowStarts,
  applied,
  apt,
  arrivalNeeds,
  arrived,
  fetchPackage,
  filesOf,
  install,
  pidOf,
  rpm,
  startArrivalScene,
} from "../support/machine/arrival.ts";
import { describeOnThrowawayMachine } from "../support/machine/on-throwaway-machine.ts";

describeOnThrowawayMachine("the agent arrives by script", arrivalNeeds, (machine) => {
  let before: string[];
  beforeEach(() => {
    before = filesOf(machine());
  });

  test("one command approves, tags and starts it; again it changes nothing; uninstalled it leaves nothing", async () => {
    await using scene = await startArrivalScene();
    const { token, server } = scene;
    const first = install(machine(), scene, `--token ${token}`);
    expect([first.status, first.stderr]).toEqual([0, ""]);
    expect(first.stdout).toContain("Installed and started");
    const nodeId = await arrived(server);
    await applied(scene, nodeId);
    expect(machine().output("cat", "/srv/arrived")).toBe("here\n");

    // Nobody but root reads the token, and no list of processes has it.
    expect(
      machine().output("stat", "-c", "%a %U", "/etc/fleetwright-agent/token", "/var/lib/fleetwright-agent"),
    ).toBe("600 root\n700 root\n");
    expect(machine().output("ps", "-eo", "args")).not.toContain(token);
    const open = machine().run(
      "sh",
      "-c",
      `find / -xdev -type f -perm /044 -newer /etc/fleetwright-agent -exec grep -l ${token} {} +`,
    );
    expect(open.stdout).toBe("");

    // It comes back when it is killed, as the same one.
    machine().output("kill", "-9", pidOf(machine()));
    expect(await arrived(server)).toBe(nodeId);

    const second = install(machine(), scene);
    expect([second.status, second.stderr]).toEqual([0, ""]);
    expect(await arrived(server)).toBe(nodeId);
    const versions = machine().output("find", agentHome, "-mindepth", "1", "-maxdepth", "1", "-type", "d");
    expect(versions.trim().split("\n")).toHaveLength(1);

    const gone = install(machine(), scene, "--uninstall");
    expect([gone.status, gone.stderr]).toEqual([0, ""]);
    machine().output("rm", "/srv/arrived");
    expect(filesOf(machine())).toEqual(before);
    expect(activityOf(machine())).not.toBe("active");
  });

  test("a newer build goes beside the older one, and the older one stays to go back to", async () => {
    await using scene = await startArrivalScene({ isCopied: true });
    expect(install(machine(), scene, `--token ${scene.token} --with-node`).status).toBe(0);
    const nodeId = await arrived(scene.server);
    const current = () => machine().output("readlink", `${agentHome}/current`).trim();
    const old = current();
    expect(install(machine(), scene).status).toBe(0);
    expect(current()).not.toBe(old);
    expect(await arrived(scene.server)).toBe(nodeId);
    expect(machine().exitCode("test", "-d", `${agentHome}/${old}`)).toBe(0);
    expect(install(machine(), scene, "--uninstall").status).toBe(0);
    expect(filesOf(machine())).toEqual(before);
  });

  test("an agent that was changed by one byte is refused, and nothing is left", async () => {
    await using scene = await startArrivalScene({ isCopied: true });
    const path = scene.artifact("linux-x64");
    const bytes = readFileSync(path);
    bytes[bytes.length >> 1]! ^= 1;
    writeFileSync(path, bytes);
    const { status, stderr } = install(machine(), scene, `--token ${scene.token}`);
    expect([status, stderr]).toEqual([1, expect.stringContaining("Nothing was installed.")]);
    expect(filesOf(machine())).toEqual(before);
  });

  describe("tells what is wrong at once, and changes nothing", () => {
    test.each<[name: string, script: (url: string, token: string) => string, told: string]>([
      [
        "without root",
        (url, token) =>
          `curl -fsS ${url}/install.sh | setpriv --reuid=65534 --clear-groups sh -s -- --token ${token}`,
        "it must be root",
      ],
      ["an option that is none", (url) => `curl -fsS ${url}/install.sh | sh -s -- --tokn x`, "--token TOKEN"],
      [
        "an option without its value",
        (url) => `curl -fsS ${url}/install.sh | sh -s -- --token`,
        "needs a value",
      ],
      [
        "what is no token",
        (url) => `curl -fsS ${url}/install.sh | sh -s -- --token 'a b'`,
        "no enrolment token",
      ],
      [
        "without an init system",
        (url) =>
          `umount /run/systemd; mount -t tmpfs tmpfs /run; mount -t tmpfs tmpfs /etc/init.d; chmod 0 /run; rm -d /etc/init.d; curl -fsS ${url}/install.sh | PATH=/usr/bin:/bin sh`,
        "no systemd, OpenRC or sysvinit",
      ],
      [
        "with the agent of another server",
        (url) =>
          `mkdir /etc/fleetwright-agent; echo orchestrator_key=00 > /etc/fleetwright-agent/agent.conf; curl -fsS ${url}/install.sh | sh; code=$?; rm -r /etc/fleetwright-agent; exit $code`,
        "an agent of another server",
      ],
    ])("%s", async (_name, script, told) => {
      await using scene = await startArrivalScene();
      // In mounts of its own, so that what it covers is covered for it alone.
      const { status, stderr } = machine().run(
        "unshare",
        "--mount",
        "sh",
        "-c",
        script(scene.server.url, scene.token),
      );
      expect(stderr).toContain(told);
      expect(status).not.toBe(0);
      expect(filesOf(machine())).toEqual(before);
    });
  });
});

describeOnThrowawayMachine(
  "the agent arrives as a deb",
  { ...arrivalNeeds, programs: ["curl", "dpkg-deb"] },
  (machine) => {
    test("two commands on the machine; upgraded it is the same agent; purged it leaves nothing", async () => {
      await using scene = await startArrivalScene();
      allowStarts(machine());
      const before = filesOf(machine());
      apt(machine(), "install", fetchPackage(machine(), scene, "deb"));
      // Without settings it waits for them.
      expect(activityOf(machine())).toBe("inactive");
      expect(install(machine(), scene, `--token ${scene.token}`).status).toBe(0);
      const nodeId = await arrived(scene.server);
      await applied(scene, nodeId);

      const repack = [
        "cd /tmp && dpkg-deb -R agent.deb next && cd next",
        "sed -i 's/^Version: .*/Version: 9.9.9/' DEBIAN/control",
        'sed -i \'s/"[0-9.]*" "$folder\\/current.new"/"9.9.9" "$folder\\/current.new"/\' DEBIAN/postinst',
        "mv opt/fleetwright-agent/[0-9]* opt/fleetwright-agent/9.9.9",
        "dpkg-deb --root-owner-group -Znone -b . /tmp/next.deb",
      ];
      machine().output("sh", "-c", repack.join(" && "));
      const known = pidOf(machine());
      apt(machine(), "install", "/tmp/next.deb");
      expect(machine().output("readlink", `${agentHome}/current`)).toBe("9.9.9\n");
      expect(pidOf(machine())).not.toBe(known);
      expect(await arrived(scene.server)).toBe(nodeId);
      const program = machine()
        .output("readlink", `/proc/${pidOf(machine())}/exe`)
        .trim();
      expect(program).toBe(`${agentHome}/9.9.9/fleetwright-agent`);

      apt(machine(), "remove", "fleetwright-agent");
      expect(activityOf(machine())).toBe("inactive");
      // Who it is and whose it is stays, until it is purged.
      expect(machine().exitCode("test", "-f", "/var/lib/fleetwright-agent/identity.json")).toBe(0);
      apt(machine(), "purge", "fleetwright-agent");
      machine().output("rm", "/srv/arrived");
      expect(filesOf(machine())).toEqual(before);
    });
  },
);

describeOnThrowawayMachine(
  "the agent arrives as an rpm",
  { ...arrivalNeeds, programs: ["curl", "rpm"] },
  (machine) => {
    test("two commands on the machine; erased it leaves nothing", async () => {
      await using scene = await startArrivalScene();
      const before = filesOf(machine());
      rpm(machine(), "--install", fetchPackage(machine(), scene, "rpm"));
      expect(activityOf(machine())).toBe("inactive");
      expect(install(machine(), scene, `--token ${scene.token}`).status).toBe(0);
      const nodeId = await arrived(scene.server);
      await applied(scene, nodeId);
      expect(machine().output("rpm", "--verify", "--nodeps", "fleetwright-agent")).toBe("");
      rpm(machine(), "--upgrade", "--force", "/tmp/agent.rpm");
      expect(await arrived(scene.server)).toBe(nodeId);
      rpm(machine(), "--erase", "fleetwright-agent");
      machine().output("rm", "/srv/arrived");
      expect(filesOf(machine())).toEqual(before);
    });
  },
);
