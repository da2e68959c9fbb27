/** What a first version says as a file, of which it says the mode alone, comes back whole after a later one that has a type of its own for it. */
import { expect, test } from "vitest";
import { MemoryHost } from "../../../lib/host/memory-host.ts";
import type { Json, JsonObject } from "../../../lib/json.ts";
import { declare, outcomes, StateFixture } from "../../support/state-fixture.ts";

const folders = ["/etc", "/etc/systemd", "/etc/systemd/system", "/usr", "/usr/share", "/usr/share/zoneinfo"];
const zone = "/usr/share/zoneinfo/UTC";
const unit = { type: "systemd_unit", name: "site.service" };

const rows: [path: string, of: JsonObject][] = [
  ["/etc/hostname", { type: "hostname", name: "web-1" }],
  ["/etc/localtime", { type: "timezone", name: "UTC" }],
  ["/etc/systemd/system/site.service", { ...unit, content: "[Service]\n" }],
  ["/etc/systemd/system/site.service", { ...unit, ensure: "absent" }],
  ["/etc/motd", { type: "symlink", path: "/etc/motd", target: "x", force: true }],
  ["/etc/motd", { type: "file", path: "/etc/motd", content: "ours", backup: true }],
];

test.each(rows)("%s as %j", async (path, of) => {
  const host: MemoryHost = new MemoryHost({
    programs: { uname: () => ({ stdout: "web-1\n" }), hostname: () => ({}) },
  });
  for (const folder of folders) host.files.makeDirectory(folder, {});
  host.files.writeFile(zone, Buffer.from("TZif"), { mode: 0o644 });
  host.files.writeFile(path, Buffer.from("theirs\n"), { mode: 0o604, uid: 7, gid: 100 });
  const look = (): Json => {
    const { kind, mode, uid, gid } = host.files.stat(path)!;
    return { kind, mode, uid, gid, content: Buffer.from(host.files.readFile(path)).toString() };
  };
  const before = look();
  const state = new StateFixture(host);
  const first = declare([{ id: "r", type: "file", path, mode: "0600" }]);
  expect(outcomes(await state.run("apply", first))).toEqual(["r changed"]);
  expect(outcomes(await state.run("apply", declare([{ id: "r", ...of }])))).toEqual(["r changed"]);
  const plan = await state.run("plan", []);
  const removal = await state.run("apply", []);
  expect(removal).toMatchObject({ status: "succeeded", applied: [] });
  expect(removal.results.map(({ changes }) => changes)).toEqual(plan.results.map(({ changes }) => changes));
  expect(look()).toEqual(before);
});
