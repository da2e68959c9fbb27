/** What the pages of docs/how-to have done on the machines of agents, as it stands there. */
import { expect, test } from "vitest";
import { applied, arrivalNeeds, arrived, install, startArrivalScene } from "../support/machine/arrival.ts";
import { describeOnThrowawayMachine } from "../support/machine/on-throwaway-machine.ts";
import { placeCommandLine, runScript } from "../support/machine/shell.ts";
import { blocksOf } from "../support/pages.ts";

const settings = "/etc/fleetwright-agent/agent.conf";

/** The module on a page. */
function moduleOf(page: string): string {
  const found = blocksOf(`docs/how-to/${page}.md`).find(
    ({ language, text }) => language === "yaml" && text.startsWith("name: "),
  );
  if (found === undefined) throw new Error(`${page} has no module.`);
  return found.text;
}

describeOnThrowawayMachine("an agent that was installed by the script", arrivalNeeds, (machine) => {
  test("goes over to another address by the module of the page", async () => {
    await using scene = await startArrivalScene();
    const { client, url } = scene.server;
    expect(install(machine(), scene, `--token ${scene.token}`).status).toBe(0);
    const nodeId = await arrived(scene.server);
    const elsewhere = url.replace("127.0.0.1", "localhost");
    const content = moduleOf("move").replace("https://new.example", elsewhere);
    const { name } = await client.modules.upload({ content });
    await client.assignments.create({ name, selector: "role=web", modules: [name] });
    await applied(scene, nodeId);
    expect(machine().output("grep", "-c", `^url = ${elsewhere}$`, settings)).toBe("1\n");
    expect(await arrived(scene.server)).toBe(nodeId);
    await client.modules.upload({ content: content.replace("localhost", "127.0.0.1") });
    await applied(scene, nodeId);
    expect(machine().output("grep", "-c", `^url = ${url}$`, settings)).toBe("1\n");
    expect(install(machine(), scene, "--uninstall").status).toBe(0);
  });

  test("goes over to a server with another key by the two lines of the page", async () => {
    await using old = await startArrivalScene();
    await using scene = await startArrivalScene();
    expect(install(machine(), old, `--token ${old.token}`).status).toBe(0);
    await arrived(old.server);
    expect(install(machine(), scene, `--token ${scene.token}`).status).not.toBe(0);
    const [lines] = blocksOf("docs/how-to/lost-keys.md").filter(({ text }) => text.includes("install.sh"));
    machine().write("/root/fleetwright-token", scene.token);
    const script = lines!.text.replaceAll("https://fleet.example", scene.server.url);
    runScript(machine(), `cd /root\n${script}`);
    await applied(scene, await arrived(scene.server));
  });
});

describeOnThrowawayMachine(
  "a module that was a role or a class",
  {
    paths: ["/lib/systemd/systemd", "/etc/login.defs"],
    programs: ["nginx", "useradd"],
    machine: { init: "systemd", network: "own" },
  },
  (machine) => {
    test.each(["from-ansible", "from-puppet"])(
      "of the page %s is applied, and leaves nothing to do",
      (page) => {
        placeCommandLine(machine());
        machine().write("/root/site.yml", moduleOf(page));
        const run = (command: string): string =>
          runScript(machine(), `cd /root\n${command}`, { HOME: "/root" });
        run("fleetwright module check site.yml");
        run("fleetwright local plan site.yml || test $? -eq 3");
        run("fleetwright local apply site.yml --yes");
        run("fleetwright local plan site.yml");
        expect(run("systemctl is-active nginx; id -nG deploy")).toMatch(/^active\n.*www-data/);
        run("fleetwright local apply --allow-empty --yes");
        expect(machine().exitCode("id", "deploy")).toBe(1);
      },
    );
  },
);
