/** A user whom only the machine's name service knows gets a key, and the file is as before without it; stat and cat say so. */
import { expect, test } from "vitest";
import { describeOnThrowawayMachine } from "../../support/machine/on-throwaway-machine.ts";
import { RealState } from "../../support/machine/real-state.ts";

const key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGZsZWV0d3JpZ2h0 ops";

describeOnThrowawayMachine(
  "authorized_key, of a name service",
  { programs: ["getent"], paths: ["/usr/lib/libnss_extrausers.so.2"] },
  (machine) => {
    test("goes to the home that getent names", async () => {
      const { host } = machine();
      machine().write("/etc/nsswitch.conf", "passwd: files extrausers\ngroup: files extrausers\n");
      const row = "ldap-user:x:70001:70002:Of LDAP:/srv/home-of-ldap:/bin/sh\n";
      machine().write("/var/lib/extrausers/passwd", row);
      machine().output("install", "-d", "-o", "70001", "-g", "70002", "/srv/home-of-ldap");
      await expect.poll(() => host.users.userId("ldap-user"), { timeout: 30_000 }).toBe(70_001);
      using state = new RealState({ host });
      const wanted = [{ id: "k", type: "authorized_key", user: "ldap-user", key }];
      const path = "/srv/home-of-ldap/.ssh/authorized_keys";
      expect((await state.run("plan", wanted)).results[0]?.outcome).toBe("would_change");
      expect(await state.apply(wanted)).toEqual(["k changed create"]);
      expect(machine().output("stat", "-c", "%a %u:%g", path)).toBe("600 70001:70002\n");
      expect(machine().output("cat", path)).toBe(`${key}\n`);
      expect(await state.apply(wanted)).toEqual(["k unchanged none"]);
      expect(await state.apply([])).toEqual(["k changed remove"]);
      expect(machine().exitCode("test", "-e", "/srv/home-of-ldap/.ssh")).toBe(1);
    });
  },
);
