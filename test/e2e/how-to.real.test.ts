/** The pages of docs/how-to, from a machine without a server and back to it: what they say is run as it stands there. */
import { expect, test } from "vitest";
import { filesOf } from "../support/machine/arrival.ts";
import { describeOnThrowawayMachine } from "../support/machine/on-throwaway-machine.ts";
import { placeCommandLine, runScript } from "../support/machine/shell.ts";
import { sourceFolder } from "../support/machine/throwaway-machine.ts";
import { blocksOf, scriptOf, type PageBlock } from "../support/pages.ts";
import { eventually } from "../support/processes.ts";

const unit = "fleetwright.service";
const page = (name: string): PageBlock[] => blocksOf(`docs/how-to/${name}.md`);

/** What takes the place of the package that npm installs from a registry: the program of the build. */
const isOfNpm = ({ text }: PageBlock): boolean => text.startsWith("npm ");

/** The blocks of a page, but those of npm; of some sections alone where they are named. */
function steps(name: string, ...sections: string[]): PageBlock[] {
  const found = page(name).filter(
    (block) => !isOfNpm(block) && (sections.length === 0 || sections.includes(block.section)),
  );
  if (found.length === 0) throw new Error(`${name} says nothing of ${sections.join(", ")}.`);
  return found;
}

const agentUnit = (name: string): string =>
  `[Service]\nExecStart=/usr/local/bin/fleetwright agent --url http://127.0.0.1:4748 --root /srv/${name} --state-dir /var/lib/${name}\nRestart=always\n`;

describeOnThrowawayMachine(
  "an operator who follows the pages",
  {
    paths: ["/lib/systemd/systemd"],
    programs: ["curl", "runuser", "useradd"],
    machine: { init: "systemd", network: "own" },
  },
  (machine) => {
    const run = (script: string, variables?: Record<string, string>): string =>
      runScript(machine(), script, { HOME: "/tmp/operator", ...variables });
    const json = <T>(command: string): T => JSON.parse(run(`fleetwright --json ${command}`)) as T;
    const agents = () =>
      json<{ items: { name?: string; node_id: string; connected: boolean }[] }>("agents list").items;
    const isBack = (name: string) =>
      eventually(`${name} is back`, () => agents().some((each) => each.name === name && each.connected));
    const startAgent = async (name: string): Promise<string> => {
      machine().write(`/run/systemd/system/${name}.service`, agentUnit(name));
      const known = agents().length;
      run(`mkdir -p /srv/${name}; systemctl daemon-reload; systemctl start ${name}`);
      await eventually(`${name} waits`, () => agents().length > known);
      return agents().find(({ name: given }) => given === undefined)!.node_id;
    };

    test(
      "has a server, backups, a way back, other operators, other keys, another machine, and nothing",
      { timeout: 900_000 },
      async () => {
        placeCommandLine(machine());
        const before = filesOf(machine());

        run(
          `cd ${sourceFolder}/packaging/server/files\n${scriptOf(steps("run-the-server", "From a checkout"))}`,
        );
        run(scriptOf(steps("run-the-server", "Give it settings", "Sign in")));
        expect(run(`systemctl is-active ${unit}`)).toBe("active\n");
        expect(run(`stat -c %U "/proc/$(systemctl show -p MainPID --value ${unit})"`)).toBe("fleetwright\n");
        expect(run("stat -c '%a %U' /var/lib/fleetwright")).toBe("700 fleetwright\n");
        expect(run(`journalctl -u ${unit} -o cat`)).toContain("http://127.0.0.1:4748");
        // 0 is shut in as far as can be, 10 not at all.
        const exposure = /(\d+\.\d+)/.exec(run(`systemd-analyze security ${unit} | tail -n 1`))?.[1];
        expect(Number(exposure)).toBeLessThan(2.5);

        const nodeId = await startAgent("web-1");
        run(`fleetwright agents approve ${nodeId} --name web-1 && fleetwright tags set web-1 role=web`);
        run(`printf 'name: site\\nresources:\\n  - { type: file, path: /hello, content: hello }\\n' > site.yml
        fleetwright modules upload site.yml && rm site.yml
        fleetwright assignments create site --selector role=web --module site && fleetwright apply web-1`);
        expect(run("cat /srv/web-1/hello")).toBe("hello");

        const drill = run(scriptOf(steps("back-up", "An operator for the timer", "The timer", "The drill")));
        expect(drill).toMatch(/web-1.*\n[^]*\bsite\b/);
        expect(run("systemctl is-active fleetwright-backup.timer")).toBe("active\n");
        expect(run("stat -c '%a %U' /var/backups/fleetwright/*.backup")).toBe("600 fleetwright-backup\n");
        // The drill told nobody to obey it.
        await isBack("web-1");

        run("fleetwright tags set web-1 later=yes");
        run(`orchestrator_key=$(fleetwright status --json | sed -n 's/.*"public_key": "\\(.*\\)".*/\\1/p')
        ${scriptOf(steps("back-up", "When it is for real"))}`);
        await isBack("web-1");
        expect(json<{ tags: object }>("agents show web-1").tags).toEqual({ role: "web" });

        const withUnit = (section: string): string =>
          run(`cd ${sourceFolder}/packaging/server/files\n${scriptOf(steps("upgrade", section))}`);
        withUnit("Upgrade");
        await isBack("web-1");
        run("fleetwright tags set web-1 later=yes");
        withUnit("Go back");
        await isBack("web-1");
        expect(json<{ tags: object }>("agents show web-1").tags).toEqual({ role: "web" });
        run("rm -r /var/lib/fleetwright.newer /var/lib/fleetwright.lost");

        const ada = { FLEETWRIGHT_HOME: "/root/ada" };
        const [init, add, login, setRole, remove] = steps("operators").map(({ text }) => text);
        const made = run(init!, ada);
        const key = { ada_public_key: /^Public key +(\w+)$/m.exec(made)![1]! };
        run(add!, key);
        expect(run(login!, ada)).toMatch(/ada .*Operator|Operator.*ada|ada[^]*Operator/);
        run(setRole!);
        expect(run("fleetwright whoami", ada)).toContain("Viewer");
        run(scriptOf(steps("lost-keys", "An operator's")), key);
        expect(run("fleetwright whoami", ada)).toContain("Operator");
        run(remove!);
        expect(
          json<{ items: { username: string }[] }>("operators list").items.map(({ username }) => username),
        ).not.toContain("ada");
        expect(
          machine().run("env", "FLEETWRIGHT_HOME=/root/ada", "/usr/local/bin/fleetwright", "whoami").status,
        ).toBe(4);

        expect(run(scriptOf(steps("lost-keys", "Every Admin's")))).toContain("rescue");
        await isBack("web-1");
        run("systemctl stop web-1");
        const another = await startAgent("web-2");
        run(scriptOf(steps("lost-keys", "An agent's")), { new_node_id: another });
        expect(agents().map(({ name, node_id }) => [name, node_id])).toEqual([["web-1", another]]);
        run("fleetwright apply web-1");

        const [leave, archive] = steps("move", "On the old machine", "On the new machine").map(
          ({ text }) => text,
        );
        expect(archive).toContain("tar -C /var/lib -xzf");
        // The one machine is the old one and the new one.
        run(`${leave}\nrm -r /var/lib/fleetwright`);
        run(scriptOf(steps("move", "On the new machine")));
        await isBack("web-1");
        expect(run("cat /srv/web-2/hello")).toBe("hello");

        // The orchestrator's key is stolen: all but the agents is as before on a server with another key.
        const serverKey = () => json<{ public_key: string }>("status").public_key;
        const stolenKey = serverKey();
        const names = () => run("fleetwright operators list -o name").split("\n").toSorted();
        const known = names();
        const overInstallScript = ({ text }: PageBlock): boolean => text.includes("install.sh");
        run(scriptOf(steps("lost-keys", "The orchestrator's").filter((block) => !overInstallScript(block))));
        expect(serverKey()).not.toBe(stolenKey);
        expect(run("fleetwright assignments list -o name")).toBe("site\n");
        expect(names()).toEqual(known);
        // With its state an agent forgets what it made, and takes back no more of it.
        run("systemctl stop web-2; rm -r /var/lib/web-2 /srv/web-2/hello");
        const anew = await startAgent("web-2");
        run(`fleetwright agents approve ${anew} --name web-1 && fleetwright tags set web-1 role=web`);
        run("fleetwright apply web-1");
        run("rm -r /var/lib/fleetwright.stolen /root/fleet /root/secret-names");

        run("fleetwright tags remove web-1 role");
        const [takeBack, forget] = steps("uninstall", "An agent").map(({ text }) => text);
        run(takeBack!);
        run("systemctl stop web-2");
        run(forget!);
        expect(machine().exitCode("test", "-e", "/srv/web-2/hello")).toBe(1);
        expect(agents()).toEqual([]);
        run(scriptOf(steps("uninstall", "The server")));
        run(
          "systemctl stop web-1 web-2; rm -rf /root/ada /root/rescue /root/fleetwright-* /root/before-upgrade.backup /root/orchestrator-key /srv/web-1 /srv/web-2 /var/lib/web-1 /var/lib/web-2",
        );
        expect(filesOf(machine())).toEqual(before);
      },
    );
  },
);
