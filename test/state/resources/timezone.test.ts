import { expect, test } from "vitest";
import type { Host } from "../../../lib/host/host.ts";
import { resolveResource } from "../../../lib/state/definition.ts";
import { snapshot } from "../../../lib/testing/snapshot.ts";
import { describeLaws, localHost, memoryHost, text } from "../../support/laws.ts";
import { declare, StateFixture } from "../../support/state-fixture.ts";

/** A machine in UTC that knows three zones. */
function fill(host: Host): void {
  for (const path of ["/etc", "/usr", "/usr/share", "/usr/share/zoneinfo", "/usr/share/zoneinfo/Europe"])
    host.files.makeDirectory(path, {});
  for (const zone of ["UTC", "Europe/Berlin", "Europe/Rome"])
    host.files.writeFile(`/usr/share/zoneinfo/${zone}`, text("TZif"), { mode: 0o644 });
  host.files.makeSymlink("/etc/localtime", "../usr/share/zoneinfo/UTC");
}

const observe = ({ files }: Host): string[] => [
  // A link may lead there in two ways.
  files.readLink("/etc/localtime").replace(/^.*zoneinfo\//, ""),
  files.stat("/etc/timezone") ? Buffer.from(files.readFile("/etc/timezone")).toString() : "none",
];

const definition = { type: "timezone", name: "Europe/Berlin" };
const break_ = (host: Host): void =>
  host.files.makeSymlink("/etc/localtime", "/usr/share/zoneinfo/Europe/Rome");

describeLaws(
  {
    "a time zone": { definition, prepare: fill, breakIt: break_, observe },
    "a time zone on a machine that notes its name": {
      definition,
      prepare(host) {
        fill(host);
        host.files.writeFile("/etc/timezone", text("UTC\n"), { mode: 0o644 });
      },
      breakIt: break_,
      observe,
    },
  },
  { "in memory": memoryHost, "on this machine": localHost },
);

test("a copy in the place of the link is replaced, and comes back with its noted name", async () => {
  const state = new StateFixture();
  fill(state.host);
  state.write("/etc/localtime", "TZif");
  state.write("/etc/timezone", "Europe/Rome\n");
  const { results } = await state.run("apply", declare([definition]));
  expect(results[0]?.changes.map(({ property, before }) => [property, before])).toEqual([
    ["name", null],
    ["noted_name", "Europe/Rome"],
  ]);
  await state.run("apply", []);
  expect(state.host.files.stat("/etc/localtime")).toMatchObject({ kind: "file", mode: 0o644 });
  expect([state.read("/etc/localtime"), state.read("/etc/timezone")]).toEqual(["TZif", "Europe/Rome\n"]);
});

test.each([
  [262_144, "changed"],
  [262_145, "failed"],
])("a copy of %i bytes in the place of the link: %s, and nothing of it is lost", async (bytes, outcome) => {
  const state = new StateFixture();
  fill(state.host);
  const copy = "T".repeat(bytes);
  state.write("/etc/localtime", copy);
  expect((await state.run("apply", declare([definition]))).results[0]?.outcome).toBe(outcome);
  expect((await state.run("apply", [])).status).toBe("succeeded");
  expect(state.read("/etc/localtime") === copy).toBe(true);
});

const at =
  (target: string, owner = { uid: 0, gid: 0 }) =>
  ({ files }: Host): void =>
    files.makeSymlink("/etc/localtime", target, owner);

/** What may stand for the zone, and the zone that is told when it comes back. */
const standings: [string, string | null, (host: Host) => void][] = [
  ["a link with an owner", "Europe/Rome", at("/usr/share/zoneinfo/Europe/Rome", { uid: 7, gid: 100 })],
  ["a link that begins in its folder", "Europe/Rome", at("../usr/share/zoneinfo/Europe/Rome")],
  ["a link without a folder", "Europe/Rome", at("zoneinfo/Europe/Rome")],
  ["a link to a zone that is there no more", "US/Old", at("/usr/share/zoneinfo/US/Old")],
  ["a link elsewhere", null, at("/srv/myzoneinfo/Rome")],
  ["a link that is no UTF-8", null, at("/srv/zone\udcff")],
  [
    "a copy that is for its owner alone",
    null,
    ({ files }) => {
      files.removeFile("/etc/localtime");
      files.writeFile("/etc/localtime", text("TZif copy"), { mode: 0o600, uid: 7, gid: 100 });
    },
  ],
  ["nothing", null, ({ files }) => files.removeFile("/etc/localtime")],
];

test.each(standings)("%s in the place of the zone comes back as it stood", async (_what, zone, prepare) => {
  for (const noted of [null, "", "\n", "UTC\n", "  Europe/Rome \n", "US/Old"]) {
    const state = new StateFixture();
    fill(state.host);
    prepare(state.host);
    if (noted !== null) state.write("/etc/timezone", noted);
    const before = snapshot(state.host, "/etc");
    const { results } = await state.run("apply", declare([definition]));
    expect(results[0]).toMatchObject({
      outcome: "changed",
      changes: [{ property: "name", before: zone }, ...(noted === null ? [] : [{ property: "noted_name" }])],
    });
    expect(state.host.files.readLink("/etc/localtime")).toBe("/usr/share/zoneinfo/Europe/Berlin");
    const plan = await state.run("plan", []);
    expect(plan.results[0]?.changes[0]).toEqual({ property: "name", before: "Europe/Berlin", after: zone });
    expect((await state.run("apply", [])).results).toMatchObject([{ outcome: "changed", attempts: 1 }]);
    expect([snapshot(state.host, "/etc"), state.applied]).toEqual([before, []]);
  }
});

test("a zone that the machine does not have is an error that leaves the old one", async () => {
  const state = new StateFixture();
  fill(state.host);
  const { results } = await state.run("apply", declare([{ type: "timezone", name: "Europe/Atlantis" }]));
  expect(results[0]).toMatchObject({
    code: "HOST_ERROR",
    message: expect.stringContaining("Europe/Atlantis") as string,
  });
  expect(observe(state.host)[0]).toBe("UTC");
});

test.each(["../passwd", "/etc/passwd", "Europe/../UTC", "Europe//Berlin", "", "-u"])(
  "%j is no zone",
  (name) => {
    expect(resolveResource({ type: "timezone", name }, { module: "m" }).ok).toBe(false);
  },
);
