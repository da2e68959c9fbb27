/** The examples of the pages for those who come from Ansible and Puppet: planned and applied on a booted machine, twice. */
import { expect, test } from "vitest";
import { describeOnThrowawayMachine } from "../support/machine/on-throwaway-machine.ts";
import { placeCommandLine, runScript } from "../support/machine/shell.ts";
import { blocksOf } from "../support/pages.ts";
import { eventually } from "../support/processes.ts";

interface Operation {
  status: string;
  resources: { resource_id: string; outcome: string }[];
}

describeOnThrowawayMachine(
  "a job that comes",
  {
    // The package is there already: nothing is fetched, and the plan asks the package manager all the same.
    paths: ["/lib/systemd/systemd", "/usr/sbin/nginx"],
    programs: ["useradd", "curl"],
    machine: { init: "systemd", network: "own" },
  },
  (machine) => {
    test.each(["from-ansible", "from-puppet"])(
      "%s does what it did, and nothing the second time",
      async (name) => {
        const run = (script: string): string => runScript(machine(), script);
        placeCommandLine(machine());
        const [server, agent, data] = [`${name}-server`, `${name}-agent`, `/var/lib/${name}`];
        run(`systemd-run -q --unit ${server} /usr/local/bin/fleetwright serve --data-dir ${data}`);
        await eventually("it listens", () => machine().exitCode("test", "-s", `${data}/admin-key`) === 0);
        run(`fleetwright login --url http://127.0.0.1:4748 --key ${data}/admin-key
          systemd-run -q --unit ${agent} /usr/local/bin/fleetwright agent --url http://127.0.0.1:4748 --state-dir ${data}.agent`);
        await eventually("the agent waits", () => run("fleetwright agents list -o name") !== "");
        run(`fleetwright agents approve --all-pending --yes
          fleetwright tags set "$(fleetwright agents list -o name)" role=web`);

        const blocks = blocksOf(`docs/how-to/${name}.md`);
        const module = blocks.find(({ text }) => text.startsWith("name: site\n"))!.text;
        machine().write("/root/site.yml", module);
        const told = run(blocks.find(({ language }) => language === "sh")!.text);
        expect(told).toMatch(/\+ file +\/etc\/nginx\/conf.d\/site.conf +create/);
        expect(run("curl -fs http://127.0.0.1:8080")).toBe("here\n");
        expect(run("id -nG deploy")).toContain("www-data");

        const agentId = run("fleetwright agents list -o name").trim();
        const again = JSON.parse(run(`fleetwright apply ${agentId} --json`)) as Operation;
        expect(again.status).toBe("succeeded");
        expect(again.resources.filter(({ outcome }) => outcome !== "unchanged")).toEqual([]);
        expect(again.resources).toHaveLength(module.match(/type: /g)!.length - 1);
        run(`fleetwright assignments remove site --yes; fleetwright apply ${agentId} --allow-empty --yes
          systemctl stop ${agent} ${server}; rm -r /root/.config/fleetwright`);
        expect(machine().exitCode("id", "deploy")).toBe(1);
      },
    );
  },
);
