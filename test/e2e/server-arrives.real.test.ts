/** The server's packages on a machine without a server: from the page that says how to install them, back to nothing. */
import { join } from "node:path";
import { expect, test } from "vitest";
import { allowStarts, apt, filesOf, rpm } from "../support/machine/arrival.ts";
import { describeOnThrowawayMachine } from "../support/machine/on-throwaway-machine.ts";
import { builtServer, serverPackage } from "../support/machine/server-package.ts";
import { runScript } from "../support/machine/shell.ts";
import { sourceFolder, type ThrowawayMachine } from "../support/machine/throwaway-machine.ts";
import { blocksOf, scriptOf } from "../support/pages.ts";

const page = "docs/how-to/run-the-server.md";
const unit = "fleetwright.service";
const needs = {
  paths: ["/lib/systemd/systemd", join(builtServer, "manifest.json")],
  machine: { init: "systemd", network: "own" },
} as const;

/** What a section of the page says. */
const section = (title: string): string =>
  scriptOf(blocksOf(page).filter((block) => block.section === title));
const ready = "curl -fsS http://127.0.0.1:4748/readyz";

/** The server as operators see it. */
class Seen {
  readonly #machine: ThrowawayMachine;

  constructor(machine: ThrowawayMachine) {
    this.#machine = machine;
  }

  run(script: string): string {
    return runScript(this.#machine, script, { HOME: "/tmp/operator", DEBIAN_FRONTEND: "noninteractive" });
  }

  get activity(): string {
    return this.#machine.run("systemctl", "is-active", unit).stdout.trim();
  }

  get pid(): string {
    return this.#machine.output("systemctl", "show", "--property=MainPID", "--value", unit).trim();
  }

  /** The key that agents obey. */
  get publicKey(): string {
    return (JSON.parse(this.run("fleetwright --json status")) as { public_key: string }).public_key;
  }

  /** Modes and owners of what the package makes. */
  get places(): string {
    return this.run(
      "stat -c '%a %U:%G %n' /etc/fleetwright /etc/fleetwright/environment /var/lib/fleetwright | sort -k 3",
    );
  }
}

const places = `750 root:fleetwright /etc/fleetwright
640 root:fleetwright /etc/fleetwright/environment
700 fleetwright:fleetwright /var/lib/fleetwright
`;

const module = `printf 'name: site\\nresources: []\\n' > /tmp/site.yml && fleetwright modules upload /tmp/site.yml`;

describeOnThrowawayMachine(
  "the server arrives as a deb",
  { ...needs, programs: ["curl", "dpkg-deb", "useradd", "bash"] },
  (machine) => {
    test("it answers, lets an operator in, is upgraded with its data and key, and purged leaves nothing", async () => {
      const seen = new Seen(machine());
      allowStarts(machine());
      const before = filesOf(machine());
      const accounts = machine().output("sh", "-c", "cat /etc/passwd /etc/group");
      const current = join(sourceFolder, "dist/server", serverPackage("linux-x64.deb"));
      const older = [
        `dpkg-deb -R ${current} /tmp/older`,
        "sed -i 's/^Version: .*/Version: 0.0.1/' /tmp/older/DEBIAN/control",
        "dpkg-deb --root-owner-group -Znone -b /tmp/older /root/fleetwright-server_0.0.1_amd64.deb",
        "rm -r /tmp/older",
      ];
      seen.run(older.join("\n"));

      seen.run(section("Install the package").replace("apt install", "apt-get -qq -y install"));
      expect([seen.activity, seen.places]).toEqual(["active", places]);
      expect(machine().output("systemctl", "is-enabled", unit)).toBe("enabled\n");
      expect(seen.run(`stat -c %U /proc/${seen.pid}`)).toBe("fleetwright\n");
      // Not a Node of the machine.
      expect(seen.run(`readlink /proc/${seen.pid}/exe`)).toBe("/usr/lib/fleetwright/bin/node\n");
      const exposure = /(\d+\.\d+)/.exec(seen.run(`systemd-analyze security ${unit} | tail -n 1`))?.[1];
      expect(Number(exposure)).toBeLessThan(2.5);

      seen.run(section("Sign in"));
      expect(seen.run("FLEETWRIGHT_HOME=/root/ada fleetwright init --username ada")).toMatch(/^Public key/m);
      expect(seen.run("fleetwright whoami")).toContain("Admin");
      expect(
        seen.run("bash -c '. /usr/share/bash-completion/completions/fleetwright && complete -p fleetwright'"),
      ).toContain("fleetwright");
      const script = seen.run("curl -fsS http://127.0.0.1:4748/install.sh");
      expect(script).toContain("linux-x64");
      expect(seen.run("curl -fsS http://127.0.0.1:4748/agent/linux-x64 | tar -tz ./fleetwright-agent")).toBe(
        "./fleetwright-agent\n",
      );

      seen.run(section("Give it settings"));
      seen.run(module);
      const [key, old] = [seen.publicKey, seen.pid];
      apt(machine(), "install", current);
      seen.run(ready);
      expect(seen.pid).not.toBe(old);
      expect(machine().output("dpkg-query", "-W", "-f", "${Version}", "fleetwright-server")).not.toBe(
        "0.0.1",
      );
      expect([seen.publicKey, seen.places]).toEqual([key, places]);
      expect(seen.run("fleetwright modules list -o name")).toBe("site\n");
      expect(machine().output("cat", "/etc/fleetwright/environment")).toContain("fleet.example");

      apt(machine(), "remove", "fleetwright-server");
      expect([seen.activity, seen.places]).toEqual(["inactive", places]);
      expect(machine().exitCode("test", "-e", "/usr/lib/fleetwright")).toBe(1);
      apt(machine(), "install", current);
      seen.run(ready);
      expect(seen.publicKey).toBe(key);

      apt(machine(), "purge", "fleetwright-server");
      seen.run("rm -r /root/fleetwright-* /root/ada");
      expect(machine().output("sh", "-c", "cat /etc/passwd /etc/group")).toBe(accounts);
      expect(filesOf(machine())).toEqual(before);
    });
  },
);

describeOnThrowawayMachine(
  "the server arrives as an rpm",
  { ...needs, programs: ["curl", "rpm", "useradd"] },
  (machine) => {
    test("it answers, is upgraded with its data and key, and erased it leaves these alone", async () => {
      const seen = new Seen(machine());
      const before = filesOf(machine());
      const current = join(sourceFolder, "dist/server", serverPackage("linux-x64.rpm"));
      rpm(machine(), "--install", current);
      seen.run(ready);
      expect([seen.activity, seen.places]).toEqual(["active", places]);
      seen.run(`${section("Sign in")}\n${module}`);
      const [key, old] = [seen.publicKey, seen.pid];
      machine().output("sh", "-c", "echo FLEETWRIGHT_LOG_LEVEL=debug >> /etc/fleetwright/environment");
      rpm(machine(), "--upgrade", "--force", current);
      seen.run(ready);
      expect(seen.pid).not.toBe(old);
      expect(seen.publicKey).toBe(key);
      expect(seen.run("fleetwright modules list -o name")).toBe("site\n");
      expect(machine().output("cat", "/etc/fleetwright/environment")).toContain("LOG_LEVEL=debug");

      rpm(machine(), "--erase", "fleetwright-server");
      expect(seen.activity).toBe("inactive");
      expect(machine().exitCode("test", "-e", "/usr/lib/fleetwright")).toBe(1);
      expect(machine().output("find", "/var/lib/fleetwright", "-name", "secrets.key")).not.toBe("");
      expect(machine().output("cat", "/etc/fleetwright/environment.rpmsave")).toContain("LOG_LEVEL=debug");
      seen.run("rm -r /var/lib/fleetwright /etc/fleetwright /root/fleetwright-*; userdel fleetwright");
      expect(filesOf(machine())).toEqual(before);
    });
  },
);
