/** Programs with capabilities: who gets them with a file, who loses them, and what a file can't be given at all. */
import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { FileChange, FileExtras, WriteOptions } from "../../lib/host/host.ts";
import { LocalHost } from "../../lib/host/local-host.ts";
import { type FileServer, serveFiles } from "../support/file-server.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const stranger = 65_534;
const name = "security.capability";
/** cap_net_bind_service, and cap_net_raw, permitted and effective, as setcap(8) writes them. */
const binds: FileExtras = { attributes: { [name]: "AQAAAgAEAAAAAAAAAAAAAAAAAAA=" } };
const raw: FileExtras = { attributes: { [name]: "AQAAAgAgAAAAAAAAAAAAAAAAAAA=" } };
const note = { "user.note": "aGVsbG8=" };

let server: FileServer;
beforeAll(async () => void (server = await serveFiles()));
afterAll(() => server.stop());

/** A program of root's in a folder of his own. */
function prepare(options: WriteOptions = { mode: 0o755, extras: binds }) {
  const base = temporaryFolder();
  const folder = join(base, "work");
  mkdirSync(folder);
  const host = new LocalHost({ stateFolder: join(base, "state") });
  const path = join(folder, "program");
  host.files.writeFile(path, Buffer.from("old"), options);
  return { host, folder, path };
}

const canHave = ((): boolean => {
  const probe = mkdtempSync(join(tmpdir(), "fleetwright-probe-"));
  try {
    const { files } = new LocalHost({ stateFolder: join(probe, "state") });
    const extras = { attributes: { ...binds.attributes, ...note } };
    files.writeFile(join(probe, "file"), Buffer.from(""), { extras });
    return process.getuid?.() === 0 && files.extras(join(probe, "file"))?.attributes?.[name] !== undefined;
  } catch (error) {
    console.warn(`Capabilities can't be given here: ${String(error)}`);
    return false;
  } finally {
    rmSync(probe, { recursive: true });
  }
})();
if (!canHave) console.warn("Skipped: programs with capabilities: only root on Linux can give any.");

type Scene = ReturnType<typeof prepare>;
const ways: [way: string, change: FileChange, act: (scene: Scene, options: WriteOptions) => unknown][] = [
  ["write", "write", ({ host, path }, options) => host.files.writeFile(path, Buffer.from("hello"), options)],
  [
    "restore",
    "write",
    async ({ host, path, folder }, options) => {
      writeFileSync(join(folder, "other"), "hello");
      const { sha256 } = await host.backups.save(join(folder, "other"));
      host.files.removeFile(join(folder, "other"));
      return host.backups.restore(sha256, path, options);
    },
  ],
  [
    "download",
    "write",
    ({ host, path }, attributes) => {
      const sha256 = host.sha256(Buffer.from("hello"));
      const request = { url: `${server.url}/hello`, path, sha256, attributes };
      return host.download(request, new AbortController().signal);
    },
  ],
  ["attributes", "attributes", ({ host, path }, options) => host.files.setAttributes(path, options)],
];

describe.runIf(canHave).each(ways)("a program with capabilities that gets a new %s", (way, change, act) => {
  const content = way === "attributes" ? "old" : "hello";
  const stands = ({ host, path }: Scene): unknown => ({
    ...host.files.extras(path),
    uid: statSync(path).uid,
    mode: statSync(path).mode & 0o7777,
    content: readFileSync(path, "utf8"),
  });

  test("and an owner who is not root is refused them, before and when it is tried", async () => {
    const scene = prepare({ mode: 0o755, extras: { attributes: { ...binds.attributes, ...note } } });
    const before = stands(scene);
    const { host, path, folder } = scene;
    const refused = expect.objectContaining({
      code: "HOST_ERROR",
      details: { path, errno: "EPERM", extras: [name] },
    });
    expect(() => host.files.requireChangeable(path, change, { uid: stranger })).toThrow(refused);
    await expect((async () => act(scene, { uid: stranger }))()).rejects.toEqual(refused);
    expect(stands(scene)).toEqual(before);
    expect(readdirSync(folder)).toEqual(["program"]);
    const anyhow = { uid: stranger, loseExtras: true };
    host.files.requireChangeable(path, change, anyhow);
    await act(scene, anyhow);
    expect(stands(scene)).toEqual({ attributes: note, uid: stranger, mode: 0o755, content });
  });

  test("keeps them with the owner that it has, and another group or mode", async () => {
    for (const [options, mode] of [
      [{}, 0o755],
      [{ mode: 0o750 }, 0o750],
      [{ uid: 0 }, 0o755],
      [{ uid: -1 }, 0o755],
      [{ gid: 2 }, 0o755],
      [{ uid: 0, gid: 2, mode: 0o700 }, 0o700],
    ] as const) {
      const scene = prepare();
      scene.host.files.requireChangeable(scene.path, change, options);
      await act(scene, options);
      expect([options, stands(scene)]).toEqual([options, { ...binds, uid: 0, mode, content }]);
    }
  });

  test("has others where they are said, also with an owner who is not root", async () => {
    for (const [extras, uid] of [
      [raw, stranger],
      [raw, 0],
      [{}, stranger],
      [{}, 0],
    ] as const) {
      const scene = prepare();
      scene.host.files.requireChangeable(scene.path, change, { uid, extras });
      await act(scene, { uid, extras });
      expect(stands(scene)).toEqual({ ...extras, uid, mode: 0o755, content });
    }
  });
});

describe.runIf(canHave)("a file that is given capabilities", () => {
  test.each<[what: string, uid: number, mode: number, had: FileExtras, given: FileExtras, isNew: boolean]>([
    ["root's alone", 0, 0o755, {}, binds, false],
    ["one that a group may write to", 0, 0o775, {}, binds, true],
    ["one that everybody may write to", 0, 0o757, {}, binds, true],
    ["one that everybody may write to, which has others", 0, 0o757, raw, binds, true],
    ["one that everybody may write to, which has them", 0, 0o757, binds, binds, false],
    ["one that everybody may write to, which gets other extras", 0, 0o757, {}, { attributes: note }, false],
    ["a stranger's", stranger, 0o755, {}, binds, true],
    ["a stranger's that has them", stranger, 0o755, binds, binds, false],
  ])("is a new one where somebody else may have it open: %s", async (_what, uid, mode, had, given, isNew) => {
    const scene = prepare({ mode, uid, extras: had });
    const { host, path } = scene;
    const { ino } = statSync(path);
    await host.files.setAttributes(path, { extras: given });
    expect([host.files.extras(path), statSync(path).ino !== ino]).toEqual([given, isNew]);
    expect(statSync(path)).toMatchObject({ uid, mode: 0o100000 | mode });
  });
});

describe("what no new file can have", () => {
  const verity = 0x0010_0000;
  test.each<WriteOptions>([{}, { mode: 0o600 }])(
    "is told before: the seal of its content, with %j",
    (more) => {
      const { host, path } = prepare({});
      const options = { ...more, extras: { flags: verity } };
      expect(() => host.files.requireChangeable(path, "write", options)).toThrow(
        expect.objectContaining({
          code: "HOST_ERROR",
          message: expect.stringContaining(`${path} would lose flags, which can't be given to`),
          details: { path, errno: expect.stringMatching(/^(?:EOPNOTSUPP|ENOTSUP)$/), extras: ["flags"] },
        }),
      );
      expect(() =>
        host.files.requireChangeable(path, "write", { ...options, loseExtras: true }),
      ).not.toThrow();
      expect(() =>
        host.files.requireChangeable(path, "write", { ...more, extras: { flags: 0x40 } }),
      ).not.toThrow();
    },
  );
});

test.runIf(canHave)("a folder of somebody else lends his file no capabilities to a new owner", () => {
  const { host, folder, path } = prepare({ mode: 0o755, uid: stranger, extras: binds });
  chownSync(folder, stranger, stranger);
  chmodSync(folder, 0o755);
  host.files.writeFile(path, Buffer.from("new"), { uid: 0, gid: 0 });
  expect(host.files.extras(path)).toEqual({});
});

test.runIf(canHave)("a program that is given an owner and something it can't have keeps what it had", () => {
  const { host, path } = prepare();
  const extras = { attributes: { "no.such.space": "aGVsbG8=" } };
  expect(() => host.files.setAttributes(path, { uid: stranger, gid: stranger, extras })).toThrow(
    expect.objectContaining({ code: "HOST_ERROR" }),
  );
  // The system takes capabilities away with each change of the owner, also with the one that undoes another.
  expect(host.files.extras(path)).toEqual(binds);
  const { uid, gid, mode } = statSync(path);
  expect([uid, gid, mode & 0o7777]).toEqual([0, 0, 0o755]);
});
