import { expect, test } from "vitest";
import { OrchestratorError } from "../../../lib/errors.ts";
import { MemoryHost } from "../../../lib/host/memory-host.ts";
import type { JsonObject } from "../../../lib/json.ts";
import { resolveResource } from "../../../lib/state/definition.ts";
import type { LawSubject } from "../../../lib/testing/resource-laws.ts";
import { describeLaws } from "../../support/laws.ts";
import { AptMachine, type AptOptions } from "../../support/machine/apt.ts";
import { declare, StateFixture } from "../../support/state-fixture.ts";

const archive = { nginx: ["1.21", "1.22"], curl: ["8.0"], jq: ["1.6"] };

let machine: AptMachine;

function createHost(): AptMachine["host"] {
  machine = new AptMachine({ archive });
  machine.install("jq", "1.6");
  return machine.host;
}

const observe: LawSubject["observe"] = () => machine.list();

describeLaws(
  {
    "a package": {
      definition: { type: "package", name: "nginx" },
      breakIt: () => void machine.installed.delete("nginx"),
      observe,
    },
    "a held version of a package": {
      definition: { type: "package", name: "nginx", version: "1.21*", hold: true },
      breakIt: () => machine.install("nginx", "1.22"),
      observe,
    },
    "several packages, one of them there": {
      definition: { type: "package", name: ["nginx", "curl", "jq"] },
      breakIt: () => void machine.installed.delete("curl"),
      observe,
    },
    "a package that is not wanted": {
      definition: { type: "package", name: "jq", ensure: "absent" },
      breakIt: () => machine.install("jq", "1.6"),
      observe,
    },
    "the hold of a package": {
      definition: { type: "package", name: "jq", hold: true },
      breakIt: () => machine.install("jq", "1.6"),
      observe,
    },
  },
  { "in memory": createHost },
);

function start(options: Partial<AptOptions> = {}): { machine: AptMachine; state: StateFixture } {
  const machine = new AptMachine({ archive, ...options });
  return { machine, state: new StateFixture(machine.host) };
}

const pkg = (more: JsonObject): ReturnType<typeof declare> =>
  declare([{ id: "p", type: "package", ...more }]);

test("the index is fetched when it is old, and not when it is fresh and knows the package", async () => {
  const old = start({ fresh: false });
  await old.state.run("apply", pkg({ name: "nginx" }));
  expect(old.machine.commands).toEqual(["update", "install nginx"]);
  const fresh = start();
  await fresh.state.run("apply", pkg({ name: "nginx" }));
  expect(fresh.machine.commands).toEqual(["install nginx"]);
});

test("the index is fetched when it does not know the package or the version", async () => {
  const { machine, state } = start();
  machine.index = { nginx: ["1.20"] };
  await state.run("apply", pkg({ name: "nginx", version: "1.22" }));
  await state.run("apply", pkg({ name: "nginx", version: "1.22" }));
  expect(machine.commands).toEqual(["update", "install nginx=1.22"]);
  machine.index = {};
  await state.run("apply", pkg({ name: "curl" }));
  expect(machine.list()).toEqual(["curl 8.0"]);
});

test("dnf, whose index has no age that can be told, fetches it for a version that it does not know", async () => {
  const ran: string[] = [];
  let known = "1.0-1";
  let version: string | null = null;
  const host = new MemoryHost({
    programs: {
      rpm: () => ({
        exitCode: version === null ? 1 : 0,
        stdout: version === null ? "" : `nginx\tnoarch\t0:${version}\n`,
      }),
      "/usr/bin/dnf": ({ argv }) => {
        if (argv.includes("--assumeno")) return { exitCode: 1 };
        const verb = argv.find((word) => ["repoquery", "makecache", "install"].includes(word)) ?? "";
        ran.push(verb);
        if (verb === "makecache") known = "1.1-1";
        if (verb === "install") version = argv.at(-1)?.slice("nginx-".length) ?? null;
        return verb === "repoquery" ? { stdout: `nginx\tnoarch\t0:${known}\n\n` } : {};
      },
    },
  });
  for (const path of ["/usr", "/usr/bin"]) host.files.makeDirectory(path, {});
  host.files.writeFile("/usr/bin/dnf", new Uint8Array(), { mode: 0o755 });
  const state = new StateFixture(host);
  expect((await state.run("apply", pkg({ name: "nginx", version: "1.0-1" }))).status).toBe("succeeded");
  expect((await state.run("apply", pkg({ name: "nginx", version: "1.1-1" }))).status).toBe("succeeded");
  expect(ran).toEqual(["repoquery", "install", "repoquery", "makecache", "install"]);
});

test("several packages are installed by one command", async () => {
  const { machine, state } = start();
  machine.install("jq", "1.6");
  const { results } = await state.run("apply", pkg({ name: ["nginx", "jq", "curl"] }));
  expect(machine.commands).toEqual(["install nginx curl"]);
  expect(results[0]?.changes).toEqual([
    { property: "ensure[nginx]", before: "absent", after: "present" },
    { property: "ensure[curl]", before: "absent", after: "present" },
  ]);
});

test("a held package is let go to change its version, and held again", async () => {
  const { machine, state } = start();
  machine.install("nginx", "1.21", { held: true });
  const { status, results } = await state.run("apply", pkg({ name: "nginx", version: "1.22", hold: true }));
  expect([status, results[0]?.action]).toEqual(["succeeded", "update"]);
  expect(machine.commands).toEqual(["unhold nginx", "install nginx=1.22", "hold nginx"]);
  expect(machine.list()).toEqual(["nginx 1.22 held"]);
});

test.each(["absent", "purged"])(
  "a package that was there before one that says it is %s comes back",
  async (ensure) => {
    const { machine, state } = start();
    machine.install("jq", "1.6");
    await state.run("apply", pkg({ name: "jq", ensure }));
    expect(machine.list()).toEqual([]);
    await state.run("apply", []);
    expect(machine.list()).toEqual(["jq 1.6"]);
  },
);

test("a package of ours that can't be changed is held again", async () => {
  const { machine, state } = start();
  machine.install("nginx", "1.21");
  await state.run("apply", pkg({ name: "nginx", hold: true }));
  machine.commands.length = 0;
  const run = machine.host.run.bind(machine.host);
  let isAway = true;
  machine.host.run = async (command, signal) => {
    const isInstall = command.argv.includes("install") && !command.argv.includes("-s");
    if (isAway && isInstall) throw new OrchestratorError("HOST_ERROR", { message: "The server is away." });
    return run(command, signal);
  };
  const newer = pkg({ name: "nginx", version: "1.22", hold: true });
  const { results } = await state.run("apply", newer);
  expect(results[0]).toMatchObject({ outcome: "failed", message: "The server is away." });
  expect(machine.commands).toEqual(["unhold nginx", "hold nginx"]);
  isAway = false;
  expect((await state.run("apply", newer)).results[0]).toMatchObject({ outcome: "changed" });
  expect(machine.installed.get("nginx")).toMatchObject({ version: "1.22", held: true });
});

test("somebody else's hold is respected, and the failure says why", async () => {
  const { machine, state } = start();
  machine.install("nginx", "1.21", { held: true });
  const { results } = await state.run("apply", pkg({ name: "nginx", ensure: "latest" }));
  expect(results[0]).toMatchObject({ outcome: "failed", code: "COMMAND_FAILED", exit_code: 100 });
  expect(results[0]?.message).toContain("Held packages were changed");
});

test("an older version that is asked for replaces a newer one", async () => {
  const { machine, state } = start();
  machine.install("nginx", "1.22");
  const { results } = await state.run("apply", pkg({ name: "nginx", version: "1.21" }));
  expect(results[0]?.changes).toEqual([{ property: "version", before: "1.22", after: "1.21" }]);
  expect(machine.list()).toEqual(["nginx 1.21"]);
});

test("latest upgrades what the index knows to be older; an age makes an old index a difference", async () => {
  const { machine, state } = start();
  machine.install("nginx", "1.21");
  const wanted = pkg({ name: "nginx", ensure: "latest", update_cache_seconds: 3600 });
  expect((await state.run("apply", wanted)).results[0]?.changes).toEqual([
    { property: "version", before: "1.21", after: "1.22" },
  ]);
  machine.archive = { nginx: ["1.21", "1.22", "1.23"] };
  expect((await state.run("check", wanted)).results[0]?.outcome).toBe("unchanged");
  machine.fresh = false;
  expect((await state.run("apply", wanted)).results[0]).toMatchObject({
    action: "update",
    changes: [{ property: "index", before: "stale", after: "fresh" }],
  });
  expect(machine.list()).toEqual(["nginx 1.23"]);
});

test.each(["present", "absent"])("an old index is no difference for what is to be %s", async (ensure) => {
  const { machine, state } = start();
  if (ensure === "present") machine.install("nginx", "1.21");
  machine.fresh = false;
  const wanted = pkg({ name: "nginx", ensure, update_cache_seconds: 0 });
  for (const mode of ["check", "plan", "apply"] as const)
    expect((await state.run(mode, wanted)).results[0], mode).toMatchObject({ outcome: "unchanged" });
  expect(machine.commands).toEqual([]);
});

test("purged takes the configuration along, also of what is gone already", async () => {
  const { machine, state } = start();
  machine.install("nginx", "1.22", { status: "config-files" });
  expect((await state.run("apply", pkg({ name: "nginx", ensure: "absent" }))).results[0]?.outcome).toBe(
    "unchanged",
  );
  const { results } = await state.run("apply", pkg({ name: "nginx", ensure: "purged" }));
  expect(results[0]?.changes).toEqual([{ property: "ensure", before: "configuration", after: "purged" }]);
  expect([...machine.installed]).toEqual([]);
});

test("what we installed stays while another package needs it, and the removal says which", async () => {
  const { machine, state } = start({ dependents: { nginx: ["site"] } });
  await state.run("apply", pkg({ name: "nginx" }));
  machine.install("site", "1");
  const { results } = await state.run("apply", []);
  expect(results[0]?.message).toBe("Other packages need it and would go too: site.");
  expect(machine.list()).toEqual(["nginx 1.22", "site 1"]);
  machine.installed.delete("site");
  expect((await state.run("apply", [])).results[0]?.outcome).toBe("changed");
});

test("a hold that a later version asked for goes with the package, or from one that stays", async () => {
  const { machine, state } = start();
  machine.install("jq", "1.6");
  for (const name of ["nginx", "jq"]) {
    await state.run("apply", pkg({ name, ensure: "latest" }));
    await state.run("apply", pkg({ name, ensure: "latest", hold: true }));
    expect(machine.list()).toContainEqual(expect.stringMatching(`^${name} .* held$`));
    expect((await state.run("apply", [])).results[0]?.outcome).toBe("changed");
  }
  expect(machine.list()).toEqual(["jq 1.6"]);
});

test("an upgraded package that was there before is left at its version", async () => {
  const { machine, state } = start();
  machine.install("nginx", "1.21");
  await state.run("apply", pkg({ name: "nginx", ensure: "latest" }));
  expect((await state.run("apply", [])).results[0]?.outcome).toBe("unchanged");
  expect(machine.list()).toEqual(["nginx 1.22"]);
});

test.each([
  ["an installation", { name: "nginx" }, "install nginx"],
  ["a removal", { name: "telnetd", ensure: "absent" }, "remove telnetd"],
])("what an interrupted dpkg left is finished before %s", async (_, declared, command) => {
  const { machine, state } = start();
  machine.install("telnetd", "1.0");
  machine.host.files.makeDirectory("/var/lib/dpkg", {});
  machine.host.files.makeDirectory("/var/lib/dpkg/updates", {});
  state.write("/var/lib/dpkg/updates/0001", "");
  await state.run("apply", pkg(declared));
  expect(machine.commands).toEqual(["dpkg --force-confdef --force-confold --configure -a", command]);
});

test("a machine without the package manager, and one that can't do it, are told apart", async () => {
  const { state } = start();
  expect((await state.run("plan", pkg({ name: "a", provider: "dnf" }))).results[0]).toMatchObject({
    code: "HOST_ERROR",
    message: "dnf is not on this machine.",
  });
  state.write("/usr/bin/pacman", "");
  expect(
    (await state.run("plan", pkg({ name: "a", provider: "pacman", hold: true }))).results[0],
  ).toMatchObject({
    message: "pacman can't hold packages.",
  });
});

test.each<[string, JsonObject]>([
  ["a name that would be an option", { name: "-y" }],
  ["a name with a pattern", { name: "lib*" }],
  ["a path", { name: "../a.deb" }],
  ["a version that would be an option", { name: "a", version: "--force" }],
  ["a version of several", { name: ["a", "b"], version: "1" }],
  ["a version of none", { name: "a", version: "1", ensure: "absent" }],
  ["a hold of none", { name: "a", hold: true, ensure: "absent" }],
  ["one name twice", { name: ["a", "a"] }],
  ["no name", { name: [] }],
])("%s is a fault", (_what, properties) => {
  expect(resolveResource({ id: "p", type: "package", ...properties }, { module: "m" }).ok).toBe(false);
});
