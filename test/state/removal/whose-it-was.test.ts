/** What stood before comes back with all it had beside its content: mode, owner, extended attributes and flags, also of a link. */
import { expect, test } from "vitest";
import type { MemoryHost } from "../../../lib/host/memory-host.ts";
import type { JsonObject } from "../../../lib/json.ts";
import { snapshot } from "../../../lib/testing/snapshot.ts";
import { createMachine, declare, outcomes, StateFixture } from "../../support/state-fixture.ts";

const uid = 54_321;
const gid = 54_322;
const extras = { attributes: { "user.note": Buffer.from("theirs").toString("base64") }, flags: 0x40 };

const putFile = (host: MemoryHost, path: string): void =>
  host.files.writeFile(path, Buffer.from("theirs"), { mode: 0o4750, uid, gid, extras });
const putFolder = (host: MemoryHost, path: string): void =>
  host.files.makeDirectory(path, { mode: 0o3770, uid, gid, extras });
const putLink = (host: MemoryHost, path: string): void =>
  host.files.makeSymlink(path, "../theirs", { uid, gid });

function fill(host: MemoryHost): void {
  putFolder(host, "/work/p");
  putFile(host, "/work/p/file");
  putLink(host, "/work/p/link");
  putFolder(host, "/work/p/sub");
  putFile(host, "/work/p/sub/deep");
}

function fillZones(host: MemoryHost): void {
  for (const folder of ["/etc", "/usr", "/usr/share", "/usr/share/zoneinfo"])
    host.files.makeDirectory(folder, { mode: 0o755 });
  host.files.writeFile("/usr/share/zoneinfo/UTC", Buffer.from("TZif"), { mode: 0o644 });
}

const zone = { type: "timezone", name: "UTC" };
const at = (type: string, more: JsonObject): JsonObject => ({ type, path: "/work/p", force: true, ...more });
const folder = (more: JsonObject): JsonObject => ({ type: "directory", path: "/work/p", ...more });

const rows: Readonly<Record<string, [definition: JsonObject, prepare: (host: MemoryHost) => void]>> = {
  "a file that was written": [at("file", { content: "ours" }), (host) => putFile(host, "/work/p")],
  "a file that got another mode and owner": [
    at("file", { mode: "0600", owner: "root", group: "root" }),
    (host) => putFile(host, "/work/p"),
  ],
  "a file that went": [at("file", { ensure: "absent" }), (host) => putFile(host, "/work/p")],
  "a file that became a link": [at("symlink", { target: "ours" }), (host) => putFile(host, "/work/p")],
  "a link that became a file": [at("file", { content: "ours" }), (host) => putLink(host, "/work/p")],
  "a link that leads elsewhere": [at("symlink", { target: "ours" }), (host) => putLink(host, "/work/p")],
  "a link that went": [at("symlink", { ensure: "absent" }), (host) => putLink(host, "/work/p")],
  "a folder that got another mode and owner": [
    folder({ mode: "0700", owner: "root", group: "root" }),
    (host) => putFolder(host, "/work/p"),
  ],
  "a folder that went": [folder({ ensure: "absent" }), (host) => putFolder(host, "/work/p")],
  "what was in a folder and got another owner": [
    folder({ recurse: true, owner: "root", group: "root", mode: "0700", file_mode: "0600" }),
    fill,
  ],
  "what was in a folder and went": [
    folder({ purge: true, mode: "0700", owner: "root", group: "root" }),
    fill,
  ],
  "the link of a time zone": [
    zone,
    (host) => (fillZones(host), putLink(host, "/etc/localtime"), putFile(host, "/etc/timezone")),
  ],
  "the copy of a time zone": [zone, (host) => (fillZones(host), putFile(host, "/etc/localtime"))],
};

test.each(Object.entries(rows))(
  "%s comes back as it was, also where somebody was at it meanwhile",
  async (_what, [definition, prepare]) => {
    for (const isTouched of [false, true]) {
      const state = new StateFixture(createMachine());
      const { files } = state.host;
      files.makeDirectory("/work", { mode: 0o755 });
      prepare(state.host);
      const before = snapshot(state.host, "/");
      const desired = declare([{ id: "r", ...definition }]);
      expect(outcomes(await state.run("apply", desired))).toEqual(["r changed"]);
      expect(snapshot(state.host, "/")).not.toEqual(before);
      if (isTouched) {
        for (const path of ["/work/p", "/work/p/file", "/work/p/sub/deep", "/etc/localtime"])
          if (!["symlink", undefined].includes(files.stat(path)?.kind))
            void files.setAttributes(path, { mode: 0o707, uid: 7, gid: 7 });
        await state.run("apply", desired);
      }
      expect(outcomes(await state.run("apply", []))).toEqual(["r changed"]);
      expect(snapshot(state.host, "/")).toEqual(before);
    }
  },
);

test.each<[what: string, row: string, path: string, again: (host: MemoryHost) => void]>([
  [
    "a link",
    "a link that leads elsewhere",
    "/work/p",
    ({ files }) => files.makeSymlink("/work/p", "../theirs", { uid: 7, gid: 7 }),
  ],
  [
    "a link that went",
    "a link that went",
    "/work/p",
    ({ files }) => files.makeSymlink("/work/p", "../theirs", { uid: 7, gid: 7 }),
  ],
  [
    "the link of a time zone",
    "the link of a time zone",
    "/etc/localtime",
    ({ files }) => files.makeSymlink("/etc/localtime", "../theirs", { uid: 7, gid: 7 }),
  ],
  [
    "a file",
    "a file that was written",
    "/work/p",
    ({ files }) =>
      files.writeFile("/work/p", Buffer.from("theirs"), { mode: 0o4750, uid: 7, gid: 7, extras }),
  ],
])("%s that somebody brought back himself belongs to whom it did", async (_what, row, path, again) => {
  const [definition, prepare] = rows[row]!;
  const state = new StateFixture(createMachine());
  state.host.files.makeDirectory("/work", { mode: 0o755 });
  prepare(state.host);
  const before = state.host.files.stat(path);
  await state.run("apply", declare([{ id: "r", ...definition }]));
  if (state.host.files.stat(path)) state.host.files.removeFile(path);
  again(state.host);
  expect(outcomes(await state.run("plan", []))).toEqual(["r would_change"]);
  expect(outcomes(await state.run("apply", []))).toEqual(["r changed"]);
  const { uid: owner, gid: group, mode } = state.host.files.stat(path)!;
  expect({ owner, group, mode }).toEqual({ owner: before?.uid, group: before?.gid, mode: before?.mode });
});
