/** Users that only the machine's name service knows, and what a program of a user is; id and getent say what came of it. */
import { execFileSync } from "node:child_process";
import { chmodSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { LocalHost } from "../../lib/host/local-host.ts";
import { describeOnThrowawayMachine } from "../support/machine/on-throwaway-machine.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

describeOnThrowawayMachine(
  "accounts of a name service",
  { programs: ["getent", "setpriv"], paths: ["/usr/lib/libnss_extrausers.so.2"] },
  (machine) => {
    const signal = new AbortController().signal;
    const extra = (file: string, line: string): void =>
      void machine().output(
        "sh",
        "-c",
        `mkdir -p /var/lib/extrausers; echo '${line}' >> /var/lib/extrausers/${file}`,
      );

    test("are known beside those of the files, as soon as they are there", async () => {
      const { host } = machine();
      expect([host.users.userId("ldap-user"), host.users.groupId("ldap-staff")]).toEqual([null, null]);
      machine().write(
        "/etc/nsswitch.conf",
        "passwd: files extrausers\ngroup: files [NOTFOUND=continue] extrausers\n",
      );
      extra("passwd", "ldap-user:x:70001:70001:Of LDAP:/home/ldap-user:/bin/dash");
      for (const line of [
        "ldap-own:x:70001:",
        "ldap-staff:x:70002:ldap-user",
        "ldap-web:x:70003:ldap-user,x",
      ])
        extra("group", line);
      machine().output("install", "-d", "-o", "70001", "-g", "70001", "/home/ldap-user");
      // Each was asked for at a moment of its own, and is asked again as long after that.
      const known = () => [host.users.userId("ldap-user"), host.users.groupId("ldap-staff")];
      await expect.poll(known, { timeout: 30_000 }).toEqual([70_001, 70_002]);
      expect([
        host.users.userName(70_001),
        host.users.groupName(70_003),
        host.users.userId("root"),
        host.users.userId("no-such-user"),
        host.users.groupName(79_999),
        host.users.userId("-x"),
      ]).toEqual(["ldap-user", "ldap-web", 0, null, null, null]);
    });

    test("run programs with all their groups and their environment, and own files", async () => {
      const { host } = machine();
      for (const user of ["ldap-user", "70001", "root", "nobody", "www-data"]) {
        const { stdout } = await host.run({ argv: ["id", "-G"], user }, signal);
        const sorted = (text: string): string[] => text.trim().split(" ").sort();
        expect([user, ...sorted(stdout)]).toEqual([user, ...sorted(machine().output("id", "-G", user))]);
      }
      const script =
        'echo "$HOME $USER $LOGNAME $SHELL $LD_LIBRARY_PATH $(id -un)"; env | grep -c FLEETWRIGHT_LATER';
      const environment = { LD_LIBRARY_PATH: "/home/ldap-user" };
      const { stdout } = await host.run(
        { argv: ["sh", "-c", script], user: "ldap-user", environment },
        signal,
      );
      expect(stdout).toBe("/home/ldap-user ldap-user ldap-user /bin/dash /home/ldap-user ldap-user\n0\n");
    });

    test("what a user puts in the way of the loader is never loaded as root", async () => {
      const { host } = machine();
      const trap = "/home/ldap-user/libcap-ng.so.0";
      machine().write(trap, "no library");
      const environment = { LD_LIBRARY_PATH: "/home/ldap-user", LD_PRELOAD: trap };
      const trace = await host.run(
        { argv: ["sh", "-c", "echo $LD_PRELOAD"], user: "ldap-user", environment },
        signal,
      );
      // The loader tells the user's own shell of the preload that is no library; setpriv as root would have failed to start.
      expect([trace.exitCode, trace.stdout]).toEqual([0, `${trap}\n`]);
    });

    test("a program that is not there, or not the user's to run, can't be started", async () => {
      const { host } = machine();
      machine().write("/root/secret", "#!/bin/sh\n", 0o755);
      machine().output("chmod", "700", "/root");
      for (const [argv, errno] of [
        ["/nonexistent", "ENOENT"],
        ["nonexistent", "ENOENT"],
        ["/root/secret", "EACCES"],
      ] as const) {
        await expect(host.run({ argv: [argv], user: "ldap-user" }, signal)).rejects.toMatchObject({
          code: "HOST_ERROR",
          details: { errno },
        });
      }
    });
  },
);

test.runIf(process.platform === "linux" && process.getuid?.() === 0)(
  "a program of a user has the groups that id tells of",
  async () => {
    const folder = temporaryFolder();
    chmodSync(folder, 0o755);
    const host = new LocalHost({ stateFolder: join(folder, "state") });
    const { stdout } = await host.run({ argv: ["id", "-G"], user: "nobody" }, new AbortController().signal);
    expect(stdout).toBe(execFileSync("id", ["-G", "nobody"], { encoding: "utf8" }));
  },
);
