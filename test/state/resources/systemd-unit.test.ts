import { expect, test } from "vitest";
import type { Host } from "../../../lib/host/host.ts";
import { MemoryHost } from "../../../lib/host/memory-host.ts";
import type { Json, JsonObject } from "../../../lib/json.ts";
import { resolveResource } from "../../../lib/state/definition.ts";
import { lawFolder } from "../../../lib/testing/resource-laws.ts";
import { describeLaws, localHost, text } from "../../support/laws.ts";
import { declare, outcomes, StateFixture } from "../../support/state-fixture.ts";

const folder = "/etc/systemd/system";
const content = "[Service]\nExecStart=/bin/true # hunter2\n";

function makeFolders(host: Host): void {
  for (const path of ["/etc", "/etc/systemd", folder]) host.files.makeDirectory(path, { mode: 0o755 });
}

/** A machine that systemd runs; `ran` gets each line that was run to change something. */
function machine(ran: string[] = []): MemoryHost {
  const note = (line: string): void => void (line.startsWith("systemctl show ") || ran.push(line));
  const host = new MemoryHost({ programs: { systemctl: ({ argv }) => (note(argv.join(" ")), {}) } });
  for (const path of [lawFolder, "/run", "/run/systemd", "/run/systemd/system"])
    host.files.makeDirectory(path, {});
  return host;
}

/** The files below the folder of units. */
function observe({ files }: Host, path = folder): Json[] {
  return files.list(path).flatMap((name): Json[] => {
    const inside = `${path}/${name}`;
    if (files.stat(inside)?.kind === "directory") return [inside, ...observe({ files } as Host, inside)];
    return [[inside, Buffer.from(files.readFile(inside)).toString()]];
  });
}

const unit = `${folder}/site.service`;
const dropIn = `${folder}/site.service.d/limits.conf`;

describeLaws(
  {
    "a unit": {
      definition: { type: "systemd_unit", name: "site.service", content },
      prepare: makeFolders,
      breakIt: (host) => host.files.writeFile(unit, text("[Service]\n"), {}),
      observe: (host) => observe(host),
      secret: "hunter2",
    },
    "a drop-in": {
      definition: { type: "systemd_unit", name: "site.service", drop_in: "limits.conf", content },
      prepare: makeFolders,
      breakIt: (host) => host.files.removeFile(dropIn),
      observe: (host) => observe(host),
    },
    "a unit in the place of another": {
      definition: { type: "systemd_unit", name: "site.service", content },
      prepare(host) {
        makeFolders(host);
        host.files.writeFile(unit, text("[Unit]\n"), { mode: 0o644 });
      },
      breakIt: (host) => host.files.removeFile(unit),
      observe: (host) => observe(host),
    },
    "a unit that is not wanted": {
      definition: { type: "systemd_unit", name: "site.service", ensure: "absent" },
      prepare(host) {
        makeFolders(host);
        host.files.writeFile(unit, text("[Unit]\n"), { mode: 0o644 });
      },
      breakIt: (host) => host.files.writeFile(unit, text("[Unit]\n"), { mode: 0o644 }),
      observe: (host) => observe(host),
    },
  },
  { "in memory, with systemd": () => machine(), "on this machine, as an image": localHost },
);

const wanted = (more: JsonObject = {}) =>
  declare([{ id: "u", type: "systemd_unit", name: "site.service", content, ...more }]);

test("systemd reads its files after each change and after the removal, and not without one", async () => {
  const ran: string[] = [];
  const state = new StateFixture(machine(ran));
  makeFolders(state.host);
  await state.run("apply", wanted());
  await state.run("apply", wanted());
  expect(ran).toEqual(["systemctl daemon-reload"]);
  await state.run("apply", []);
  expect(ran).toEqual(["systemctl daemon-reload", "systemctl daemon-reload"]);
});

test("a drop-in of somebody else keeps its folder when ours goes", async () => {
  const state = new StateFixture(machine());
  makeFolders(state.host);
  await state.run("apply", wanted({ drop_in: "limits.conf" }));
  state.write(`${folder}/site.service.d/theirs.conf`, "[Service]\n");
  await state.run("apply", []);
  expect(state.host.files.list(`${folder}/site.service.d`)).toEqual(["theirs.conf"]);
});

test.each([
  [{}, "site.service"],
  [{ drop_in: "limits.conf" }, "site.service.d/limits.conf"],
])("an empty folder of drop-ins that stood before %j stays", async (more, path) => {
  const state = new StateFixture(machine());
  makeFolders(state.host);
  const dropIns = `${folder}/site.service.d`;
  state.host.files.makeDirectory(dropIns, { mode: 0o750 });
  expect((await state.run("apply", wanted(more))).status).toBe("succeeded");
  expect(state.read(`${folder}/${path}`)).toBe(content);
  expect((await state.run("apply", [])).status).toBe("succeeded");
  expect(state.host.files.stat(`${folder}/${path}`)).toBeNull();
  expect(state.host.files.stat(dropIns)).toMatchObject({ kind: "directory", mode: 0o750 });
});

// An empty file takes a unit out of the way, as a mask does.
const coming: [string, JsonObject][] = [
  [unit, { content }],
  [unit, { ensure: "absent" }],
  [`${folder}/site.service.d/limits.conf`, { content, drop_in: "limits.conf" }],
];
test.each(
  ["", "\n", "[Unit]", "[Unit]\r\n"].flatMap((stood) =>
    coming.map(([path, more]) => [stood, path, more] as const),
  ),
)("what stood as %j at %s before %j comes back", async (stood, path, more) => {
  const state = new StateFixture(machine());
  makeFolders(state.host);
  state.host.files.makeDirectory(`${folder}/site.service.d`, { mode: 0o755 });
  state.write(path, stood);
  const desired = declare([{ type: "systemd_unit", name: "site.service", ...more }]);
  expect((await state.run("apply", desired)).results[0]).toMatchObject({ outcome: "changed" });
  expect((await state.run("apply", [])).results[0]).toMatchObject({ outcome: "changed" });
  expect([state.read(path), state.applied]).toEqual([stood, []]);
});

test("the link of a masked unit is left alone", async () => {
  const state = new StateFixture(machine());
  makeFolders(state.host);
  state.host.files.makeSymlink(unit, "/dev/null");
  const { results } = await state.run("apply", wanted());
  expect(results[0]).toMatchObject({ outcome: "failed", code: "HOST_ERROR" });
  expect(state.host.files.readLink(unit)).toBe("/dev/null");
});

test("a file declared at the same path is the same thing", () => {
  const resolution = resolveResource(
    { type: "systemd_unit", name: "a.timer", drop_in: "b.conf", content },
    { module: "m" },
  );
  expect(resolution.ok && resolution.resource.identity).toBe(`${folder}/a.timer.d/b.conf`);
});

test.each<[string, JsonObject]>([
  ["a name without a kind", { name: "site", content }],
  ["a path", { name: "../site.service", content }],
  ["a drop-in that is a path", { name: "site.service", drop_in: "../a.conf", content }],
  ["no content", { name: "site.service" }],
])("%s is a fault", (_what, properties) => {
  expect(resolveResource({ type: "systemd_unit", ...properties }, { module: "m" }).ok).toBe(false);
});

test.each([
  ..."service socket timer path target mount automount swap slice"
    .split(" ")
    .map((kind) => [kind, true] as const),
  ...["scope", "device", "conf"].map((kind) => [kind, false] as const),
])("a unit of the kind %s may be declared: %s", (kind, isUnit) => {
  const definition = { type: "systemd_unit", name: `site.${kind}`, content };
  expect(resolveResource(definition, { module: "m" }).ok).toBe(isUnit);
});

test("a unit is read by systemd in the end, also where that failed when its file was in place", async () => {
  let works = false;
  let isStale = false;
  const asked: string[] = [];
  const host = new MemoryHost({
    programs: {
      systemctl({ argv }) {
        if (argv[1] === "daemon-reload") isStale &&= !works;
        else asked.push(argv.at(-1) ?? "");
        return argv[1] === "daemon-reload"
          ? { exitCode: works ? 0 : 1 }
          : { stdout: `NeedDaemonReload=${isStale ? "yes" : "no"}\n` };
      },
    },
  });
  for (const path of ["/run", "/run/systemd", "/run/systemd/system"]) host.files.makeDirectory(path, {});
  makeFolders(host);
  const state = new StateFixture(host);
  const desired = wanted({ name: "site@.service" });
  isStale = true;
  expect((await state.run("apply", desired)).results[0]).toMatchObject({ outcome: "failed" });
  works = true;
  expect((await state.run("check", desired)).results[0]).toMatchObject({
    outcome: "would_change",
    changes: [{ property: "read", before: "older files", after: "these" }],
  });
  expect((await state.run("apply", desired)).results[0]).toMatchObject({ outcome: "changed" });
  expect((await state.run("apply", desired)).results[0]).toMatchObject({ outcome: "unchanged" });
  // Of a template the instances are asked.
  expect(new Set(asked)).toEqual(new Set(["site@*.service"]));
  works = false;
  isStale = true;
  expect((await state.run("apply", [])).results[0]).toMatchObject({ outcome: "failed" });
  works = true;
  expect((await state.run("apply", [])).results[0]).toMatchObject({ outcome: "changed" });
  expect([isStale, state.applied]).toEqual([false, []]);
});

test.each([
  ["an image that is built without systemd running", false],
  ["a root folder, whatever is in its /run", true],
])("nobody is asked to read the files of %s", async (_what, isConfined) => {
  const host = new MemoryHost({ programs: {} });
  makeFolders(host);
  if (isConfined)
    for (const path of ["/run", "/run/systemd", "/run/systemd/system"]) host.files.makeDirectory(path, {});
  const state = new StateFixture(Object.assign(host, { isConfined }));
  for (const desired of [wanted(), wanted(), wanted({ content: "[Unit]\n" }), []])
    expect((await state.run("apply", desired)).status).toBe("succeeded");
  expect(host.files.list(folder)).toEqual([]);
});

test("where systemd can't be asked what it has read, it has read it", async () => {
  const systemctl = ({ argv }: { argv: readonly string[] }) =>
    argv[1] === "show" ? { exitCode: 1, stderr: "Failed to connect to bus" } : {};
  const host = new MemoryHost({ programs: { systemctl } });
  for (const path of ["/run", "/run/systemd", "/run/systemd/system"]) host.files.makeDirectory(path, {});
  makeFolders(host);
  const state = new StateFixture(host);
  expect(outcomes(await state.run("apply", wanted()))).toEqual(["u changed"]);
  expect(outcomes(await state.run("apply", wanted()))).toEqual(["u unchanged"]);
});
