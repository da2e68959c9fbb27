import { existsSync, statSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { runIn, startSignedIn, startSocketAgent } from "../../support/command-line.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

describe("a short id", () => {
  it("is taken for operations, rollouts, windows, tokens and agents, and one of several is told with which", async () => {
    const line = await startSignedIn();
    const { run, print } = line;
    const { agent } = await startSocketAgent(line);
    const nodeId = agent.nodeId ?? "";
    await print("agents", "approve", nodeId.slice(0, 8), "--name", "web-1");
    expect(await print("agents", "show", nodeId.slice(0, 12).toUpperCase())).toContain(
      `node_id          ${nodeId}`,
    );
    const content = "name: web\nresources:\n  - { type: file, path: /page, content: x }\n";
    await runIn(line.folder, ["modules", "upload", "-"], undefined, content);
    await print("assignments", "create", "web", "--selector", "*", "--module", "web");
    await run("plan", nodeId.slice(0, 8));
    await print("apply", "web-1");
    const names = (await print("operations", "list", "-o", "name")).trim().split("\n");
    const [short = ""] = /^[0-9a-f-]+(?= )/m.exec(await print("operations", "list")) ?? [];
    expect(names[0]?.startsWith(short)).toBe(true);
    expect(await print("operations", "show", short, "--json")).toContain(`"operation_id": "${names[0]}"`);
    const several = await run("operations", "show", names[0]!.slice(0, 6));
    expect(several).toMatchObject({ code: 2, stdout: "" });
    for (const name of names) expect(several.stderr).toContain(name);
    expect(several.stderr).toContain("apply on web-1");
    expect(await run("operations", "cancel", "ffffffff")).toMatchObject({
      code: 1,
      stderr: 'fleetwright: NOT_FOUND: There is no operation that begins with "ffffffff".\n',
    });
    await print("assignments", "apply", "web");
    const rollout = (await print("rollouts", "list", "-o", "name")).trim();
    expect(await print("rollouts", "show", rollout.slice(0, 18))).toContain(rollout);
    await print("windows", "create", "--reason", "x", "--mode", "mute", "--for", "2h");
    const window = (await print("windows", "list", "-o", "name")).trim();
    expect(await print("windows", "show", window.slice(0, 13))).toContain(window);
  });

  it.each([
    [["windows", "end"], "window", "windows list"],
    [["windows", "remove", "--yes"], "window", "windows list"],
    [["enrol", "show"], "token", "enrol list"],
    [["enrol", "revoke", "--yes"], "token", "enrol list"],
    [["rollouts", "watch"], "rollout", "rollouts list"],
    [["rollouts", "cancel"], "rollout", "rollouts list"],
    [["assignments", "apply", "web", "--plan"], "rollout", "rollouts list"],
    [["runs", "show"], "run", "rollouts list"],
    [["operations", "attach"], "operation", "operations list"],
    [["apply", "--plan"], "operation", "operations list"],
    [["terminal", "close"], "terminal", "terminal list"],
    [["notifications", "read"], "notification", "notifications list"],
  ])(
    "is asked for where %j gets a word that is none, with the list that has it",
    async (args, kind, list) => {
      const { run } = await startSignedIn();
      for (const typed of [
        "web",
        "019",
        "0199d3a05f3c7c1e9a550d9f5f3e2b11",
        "0199d3a0-5f3c-7c1e-9a55-0d9f5f3e2b111",
      ]) {
        const { code, stderr } = await run(...args, typed);
        expect([code, stderr]).toEqual([
          1,
          expect.stringContaining(`NOT_FOUND: There is no ${kind} "${typed}".`),
        ]);
        expect(stderr).toContain(`\`fleetwright ${list}\``);
      }
      expect((await run(...args, "0199d3a0-5f3c")).stderr).toContain(`There is no ${kind} that begins with`);
    },
  );

  it("of an agent has 8 digits at least: a name that is gone finds no other machine", async () => {
    const line = await startSignedIn();
    const { agent } = await startSocketAgent(line);
    const told = await line.run("agents", "show", (agent.nodeId ?? "").slice(0, 7));
    expect(told).toMatchObject({ code: 1, stderr: expect.stringContaining("NOT_FOUND") });
  });
});

describe("did you mean", () => {
  it("is asked for agents, modules, commands and options", async () => {
    const line = await startSignedIn();
    const { agent } = await startSocketAgent(line);
    await line.print("agents", "approve", agent.nodeId ?? "", "--name", "web-1");
    const content = "name: nginx\nresources: []\n";
    await runIn(line.folder, ["modules", "upload", "-"], undefined, content);
    await line.print("assignments", "create", "pages", "--selector", "role=web", "--module", "nginx");
    await line.print("thresholds", "create", "busy", "--metric", "load.5", "--above", "800");
    for (const [args, told] of [
      [["agents", "show", "wbe-1"], 'NOT_FOUND: There is no agent "wbe-1". Did you mean "web-1"?'],
      [["modules", "show", "ngnix"], 'Did you mean "nginx"?'],
      [["assignments", "show", "pgaes"], 'Did you mean "pages"?'],
      [["assignments", "plan", "pgaes"], 'Did you mean "pages"?'],
      [["assignments", "apply", "pgaes"], 'Did you mean "pages"?'],
      [["assignments", "update", "pgaes", "--enforce"], 'Did you mean "pages"?'],
      [["assignments", "remove", "pgaes", "--yes"], 'Did you mean "pages"?'],
      [["modules", "show", "NGINX"], 'NOT_FOUND: There is no module "NGINX". Did you mean "nginx"?'],
      [["modules", "remove", "Nginx", "--yes"], 'Did you mean "nginx"?'],
      [["assignments", "show", "Pages"], 'There is no assignment "Pages". Did you mean "pages"?'],
      [["assignments", "plan", "PAGES"], 'Did you mean "pages"?'],
      [["assignments", "update", "Pages", "--enforce"], 'Did you mean "pages"?'],
      [["assignments", "update", "pages", "--module", "ngnix@3"], 'Did you mean "nginx"?'],
      [["assignments", "create", "x", "--selector", "*", "--module", "Nginx"], 'Did you mean "nginx"?'],
      [["plan", "web-1", "--module", "ngnix"], 'Did you mean "nginx"?'],
      [["apply", "web-1", "--remove-module", "Nginx"], 'Did you mean "nginx"?'],
      [["agents", "list", "--module", "Nginx"], 'Did you mean "nginx"?'],
      [["rollouts", "list", "--assignment", "Pages"], 'Did you mean "pages"?'],
      [["operations", "list", "--assignment", "Pages"], 'Did you mean "pages"?'],
      [["thresholds", "show", "bsuy"], 'NOT_FOUND: There is no threshold "bsuy". Did you mean "busy"?'],
      [["alarms", "--threshold", "Busy"], 'Did you mean "busy"?'],
      [["agents", "lst"], "Did you mean list?"],
      [["agents", "list", "--statsu", "pending"], "Did you mean --status?"],
    ] as const) {
      const { code, stderr } = await line.run(...args);
      expect(code).not.toBe(0);
      expect(stderr).toContain(told);
    }
    const plan = ["--plan", "01a21ac4-95c0-7000-af3e-53211447d245"];
    const other = await line.run("assignments", "apply", "pages", ...plan);
    expect(other.stderr).toContain("NOT_FOUND");
    expect(other.stderr).not.toContain("Did you mean");
    expect((await line.run("modules", "show", "something")).stderr).not.toContain("Did you mean");
    const [id = ""] = (await line.print("thresholds", "list", "-o", "name")).split("\n");
    for (const typed of ["busy", id.slice(0, 13)])
      expect(await line.print("alarms", "--threshold", typed)).toContain("THRESHOLD");
    expect(await line.print("thresholds", "show", "busy")).toContain(id);
  });
});

describe("profiles", () => {
  it("keep servers apart, by --profile and by what was last used, in files of their owner", async () => {
    const line = await startSignedIn();
    const { folder, key, server } = line;
    const login = ["login", "--key", key, "--url", server.url];
    expect(await runIn(folder, ["whoami", "--profile", "lab"], server.url)).toMatchObject({ code: 4 });
    expect(await runIn(folder, [...login, "--profile", "lab"])).toMatchObject({ code: 0 });
    expect((await runIn(folder, ["whoami", "--profile", "lab"])).stdout).toContain(server.url);
    expect((await runIn(folder, ["use", "lab"])).stdout).toBe(`lab is used from now on, at ${server.url}.\n`);
    expect(await runIn(folder, ["logout"])).toMatchObject({ code: 0, stdout: "Signed out.\n" });
    expect(await runIn(folder, ["whoami"])).toMatchObject({ code: 4 });
    expect(await runIn(folder, ["whoami", "--profile", "default"])).toMatchObject({ code: 0 });
    expect((await runIn(folder, ["use", "new"])).stdout).toContain("empty: sign in");
    for (const name of ["used-profile", "profiles/lab.json"])
      expect(statSync(`${folder}/home/${name}`).mode & 0o777).toBe(0o600);
  });

  it("that are named are meant with their server, and who uses one is told of a variable that counts more", async () => {
    const line = await startSignedIn();
    const { folder, key, server } = line;
    await runIn(folder, ["login", "--key", key, "--url", server.url, "--profile", "lab"]);
    const elsewhere = "http://127.0.0.1:1";
    const named = await runIn(folder, ["whoami", "--profile", "lab"], elsewhere);
    expect(named).toMatchObject({ code: 0, stdout: expect.stringContaining(server.url) });
    expect((await runIn(folder, ["use", "lab"], elsewhere)).stderr).toBe(
      `FLEETWRIGHT_URL is set: commands still go to ${elsewhere}.\n`,
    );
    expect((await runIn(folder, ["use", "lab"], server.url)).stderr).toBe("");
    expect((await runIn(folder, ["whoami"], elsewhere)).code).toBe(1);
    // Of one that is empty nothing is known but the variable.
    expect((await runIn(folder, ["status", "--profile", "new"], server.url)).code).toBe(0);
  });

  it.each(["../x", "", "a/b", ".hidden"])("refuse %j as a name, and write nothing", async (name) => {
    const folder = temporaryFolder();
    expect(await runIn(folder, ["use", name])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("CONFIGURATION_INVALID"),
    });
    expect(existsSync(`${folder}/home`)).toBe(false);
  });
});
