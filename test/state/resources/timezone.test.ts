import { expect, test } from "vitest";
import type { Host } from "../../../lib/host/host.ts";
import { resolveResource } from "../../../lib/state/definition.ts";
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
