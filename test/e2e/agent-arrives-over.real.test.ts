/**
 * A package comes over an installation by the script, and the script is cut off in the middle.
 *
 * Symptoms: over the script's an rpm left the script's unit in /etc, which went on before its own, and both packages left the versions of
 * the script for ever. Uninstalling after a run that was cut off before it had switched found no uninstaller, and left everything.
 */
import { describe, expect, test } from "vitest";
import {
  activityOf,
  agentHome,
  agentUnit,
  allowStarts,
  applied,
  apt,
  arrivalNeeds,
  arrived,
  type ArrivalScene,
  fetchPackage,
  filesOf,
  install,
  pidOf,
  rpm,
  startArrivalScene,
} from "../support/machine/arrival.ts";
import { describeOnThrowawayMachine } from "../support/machine/on-throwaway-machine.ts";
import type { ThrowawayMachine } from "../support/machine/throwaway-machine.ts";

const packages = {
  deb: {
    programs: ["curl", "dpkg-deb"],
    install: (machine: ThrowawayMachine, path: string) => apt(machine, "install", path),
    remove: (machine: ThrowawayMachine) => apt(machine, "purge", "fleetwright-agent"),
  },
  rpm: {
    programs: ["curl", "rpm"],
    install: (machine: ThrowawayMachine, path: string) => rpm(machine, "--install", path),
    remove: (machine: ThrowawayMachine) => rpm(machine, "--erase", "fleetwright-agent"),
  },
} as const;

describe.each(["deb", "rpm"] as const)("over an installation by the script, a package (%s)", (kind) => {
  const { programs, ...manager } = packages[kind];
  describeOnThrowawayMachine(
    `takes over: ${kind}`,
    { ...arrivalNeeds, programs: [...programs] },
    (machine) => {
      test("is the same agent with the package's program and unit, and leaves nothing when it is removed", async () => {
        await using scene = await startArrivalScene();
        allowStarts(machine());
        const path = fetchPackage(machine(), scene, kind);
        const before = filesOf(machine());
        expect(install(machine(), scene, `--token ${scene.token}`).status).toBe(0);
        const nodeId = await arrived(scene.server);
        const known = pidOf(machine());

        manager.install(machine(), path);
        expect(activityOf(machine())).toBe("active");
        expect(pidOf(machine())).not.toBe(known);
        expect(await arrived(scene.server)).toBe(nodeId);
        await applied(scene, nodeId);
        const show = (property: string): string =>
          machine().output("systemctl", "show", `--property=${property}`, "--value", agentUnit).trim();
        expect([show("FragmentPath"), show("UnitFileState"), show("NeedDaemonReload")]).toEqual([
          expect.stringMatching(/^(?:\/usr)?\/lib\/systemd\/system\/fleetwright-agent\.service$/),
          "enabled",
          "no",
        ]);
        const folders = machine()
          .output("find", agentHome, "-mindepth", "1", "-maxdepth", "1", "-type", "d")
          .trim();
        expect(folders.split("\n")).toHaveLength(1);
        expect(
          machine()
            .output("readlink", "-f", `/proc/${pidOf(machine())}/exe`)
            .trim(),
        ).toBe(`${folders}/fleetwright-agent`);
        expect(machine().exitCode("test", "-e", "/usr/local/bin/fleetwright-agent")).not.toBe(0);
        // What the script says then is that it leaves the package alone.
        expect(install(machine(), scene).stdout).toContain("as a package");

        manager.remove(machine());
        machine().output("rm", "/srv/arrived");
        expect(filesOf(machine())).toEqual(before);
      });
    },
  );
});

/** Runs the installer so that all of it is killed at the nth program that it starts; answers whether it came so far. */
function killedAt(machine: ThrowawayMachine, step: number, options: string): boolean {
  const { status, stderr } = machine.run(
    "sh",
    "-c",
    `echo 0 > /steps/count; echo ${step} > /steps/at; PATH=/steps/bin:$PATH setsid --wait /bin/sh /steps/install.sh ${options}`,
  );
  if (status !== 137 && options !== "--uninstall") expect([status, stderr]).toEqual([0, ""]);
  return status === 137;
}

/** Has every program that the installer starts counted. */
function prepareSteps(machine: ThrowawayMachine, { server }: ArrivalScene): void {
  const counted = `#!/bin/sh
n=$(($(/bin/cat /steps/count) + 1))
echo "$n" > /steps/count
[ "$n" != "$(/bin/cat /steps/at)" ] || kill -9 0
PATH=\${PATH#*:}
exec "\${0##*/}" "$@"
`;
  const names =
    "mkdir mktemp curl sha256sum tar chmod readlink ln mv cat grep sed cp systemctl rm basename id sleep wc tail";
  machine.output(
    "sh",
    "-c",
    `mkdir -p /steps/bin && touch /steps/count /steps/at && cd /steps/bin && printf %s '${counted.replaceAll("'", "'\\''")}' > counted && chmod 755 counted && for n in ${names}; do ln -sf counted "$n"; done && curl -fsS ${server.url}/install.sh > /steps/install.sh`,
  );
}

describeOnThrowawayMachine("a run of the installer that was killed", arrivalNeeds, (machine) => {
  test("leaves nothing when it is uninstalled, whichever step it was at, and be that killed too", async () => {
    await using scene = await startArrivalScene();
    prepareSteps(machine(), scene);
    const before = filesOf(machine());
    const options = `--with-node --token ${scene.token}`;
    let step = 1;
    for (; killedAt(machine(), step, options); step += 1) {
      // At every other step the first try to uninstall is killed as well, each time later.
      if (step % 2 === 0) killedAt(machine(), 2 + step / 2, "--uninstall");
      const gone = install(machine(), scene, "--uninstall");
      // Before it had made its folder there is nothing to take away.
      if (gone.status !== 0) expect(gone.stderr, `step ${step}`).toContain("there is no agent");
      expect(filesOf(machine()), `step ${step}`).toEqual(before);
    }
    expect(step).toBeGreaterThan(25);
    expect(install(machine(), scene, "--uninstall").status).toBe(0);
    expect(filesOf(machine())).toEqual(before);
  }, 280_000);

  test("is no hindrance for the next one", async () => {
    await using scene = await startArrivalScene();
    prepareSteps(machine(), scene);
    const options = `--with-node --token ${scene.token}`;
    for (let step = 12; step <= 36; step += 4) killedAt(machine(), step, options);
    expect(install(machine(), scene, options).status).toBe(0);
    await arrived(scene.server);
    expect(machine().run("sh", "-c", `ls -d ${agentHome}/new.*`).stdout).toBe("");
    expect(install(machine(), scene, "--uninstall").status).toBe(0);
  }, 120_000);
});
