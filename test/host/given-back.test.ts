/** What a host opens while it works is closed again, however that ends. */
import {
  chownSync,
  linkSync,
  mkdirSync,
  readdirSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Host, HostBackups, HostFiles } from "../../lib/host/host.ts";
import { LocalHost } from "../../lib/host/local-host.ts";
import { type FileServer, serveFiles } from "../support/file-server.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const stranger = 65_534;
const isRoot = process.platform === "linux" && process.getuid?.() === 0;
const never = new AbortController().signal;
const bytes = Buffer.from("new");
let server: FileServer;
beforeAll(async () => void (server = await serveFiles()));
afterAll(() => server.stop());

const open = (): number => readdirSync("/proc/self/fd").length;

/** A folder with a thing of each kind, the agent's or somebody else's. */
function prepare(owner: number): { host: LocalHost; folder: string; fill: () => void } {
  const base = temporaryFolder();
  const folder = join(base, "home");
  const fill = (): void => {
    rmSync(folder, { recursive: true, force: true });
    for (const each of [folder, join(folder, "folder"), join(folder, "full")])
      mkdirSync(each, { recursive: true });
    for (const each of ["file", "full/file"]) writeFileSync(join(folder, each), "old");
    writeFileSync(join(folder, "large"), "");
    truncateSync(join(folder, "large"), 5 * 1_048_576);
    symlinkSync("file", join(folder, "link"));
    linkSync(join(folder, "full/file"), join(folder, "second name"));
    if (owner !== 0) for (const each of [folder, join(folder, "folder")]) chownSync(each, owner, owner);
  };
  fill();
  return { host: new LocalHost({ stateFolder: join(base, "state") }), folder, fill };
}

const things = ["file", "large", "folder", "full", "link", "second name", "none", "none/below", "file/below"];

type Act<On> = (on: On, path: string, host: Host) => unknown;

const fileActs: Record<Exclude<keyof HostFiles, "below">, Act<HostFiles>> = {
  stat: (files, path) => files.stat(path),
  ledBy: (files, path) => files.ledBy(path),
  readFile: (files, path) => files.readFile(path),
  hashFile: (files, path) => files.hashFile(path),
  compareFile: (files, path) => files.compareFile(path, bytes),
  readLink: (files, path) => files.readLink(path),
  extras: (files, path) => files.extras(path),
  requireChangeable: (files, path) => files.requireChangeable(path, "write"),
  list: (files, path) => files.list(path),
  writeFile: (files, path) => files.writeFile(path, bytes, { mode: 0o640 }),
  makeDirectory: (files, path) => files.makeDirectory(path, { mode: 0o750 }),
  makeSymlink: (files, path) => files.makeSymlink(path, "file"),
  move: (files, path) => files.move(path, `${path}.moved`),
  setAttributes: (files, path) => files.setAttributes(path, { mode: 0o600 }),
  removeFile: (files, path) => files.removeFile(path),
  removeDirectory: (files, path) => files.removeDirectory(path),
};

const aborted = AbortSignal.abort(new Error("enough"));
const backupActs: Record<string, Act<HostBackups>> = {
  save: (backups, path) => backups.save(path),
  "save of a file that changed": (backups, path, { files }) =>
    backups.save(path, { expected: { ...files.stat(path)!, sizeBytes: 99 } }),
  "save that is left": (backups, path) => backups.save(path, { signal: aborted }),
  restore: async (backups, path) => {
    const { sha256 } = await backups.save(join(path, "../file"));
    return backups.restore(sha256, path, {});
  },
  "restore of what is gone": (backups, path) => backups.restore("0".repeat(64), path, {}),
  "restore that is left": async (backups, path) => {
    const { sha256 } = await backups.save(join(path, "../large"));
    return backups.restore(sha256, path, { signal: aborted });
  },
};

const hostActs: Record<string, Act<Host>> = {
  "a program in it": (host, path) => host.run({ argv: ["true"], cwd: path }, never),
  "a program that is given it": (host, path) =>
    host.run({ argv: ["cat", "%it"], opens: { "%it": path } }, never),
  "a program that can't be started": (host, path) => host.run({ argv: ["/none"], cwd: path }, never),
  "a download": (host, path) =>
    host.download(
      { url: `${server.url}/hello`, path, sha256: host.sha256(Buffer.from("hello")), attributes: {} },
      never,
    ),
  "a download of something else": (host, path) =>
    host.download({ url: `${server.url}/hello`, path, sha256: "0".repeat(64), attributes: {} }, never),
};

type Place = [
  whose: string,
  owner: number,
  at: (host: LocalHost, folder: string) => { files: HostFiles; backups: HostBackups },
];

const foreign: Place[] = isRoot ? [["of somebody else", stranger, (host) => host]] : [];
const places: Place[] = [
  ["of the agent's", 0, (host) => host],
  ...foreign,
  [
    "that is guarded",
    0,
    (host, folder) => ({ files: host.files.below(folder), backups: host.backups.below(folder) }),
  ],
];

describe.runIf(process.platform === "linux").each(places)("in a folder %s", (_whose, owner, at) => {
  /** What leaves something open or beside, of all calls on all things. */
  async function leaks<On>(acts: Record<string, Act<On>>, on: (scene: ReturnType<typeof prepare>) => On) {
    const scene = prepare(owner);
    const target = on(scene);
    const found: string[] = [];
    const outcomes = new Set<string>();
    for (const [name, act] of Object.entries(acts)) {
      for (const thing of things) {
        scene.fill();
        const before = open();
        try {
          await act(target, join(scene.folder, thing), scene.host);
          outcomes.add(`${name} done`);
        } catch {
          outcomes.add(`${name} refused`);
        }
        await scene.host.barrier().catch(() => {});
        const left = readdirSync(scene.folder).filter((each) => each.startsWith(".fleetwright-"));
        await expect.poll(open, { message: `${name} of ${thing}` }).toBeLessThanOrEqual(before);
        found.push(...left.map((each) => `${name} of ${thing}: ${each}`));
      }
    }
    return { found, outcomes };
  }

  test("no call on files leaves anything open or beside, whether it is refused or not", async () => {
    const { found, outcomes } = await leaks(fileActs, ({ host, folder }) => at(host, folder).files);
    expect(found).toEqual([]);
    const names = Object.keys(fileActs).filter((name) => !["stat", "ledBy"].includes(name));
    expect([...outcomes]).toEqual(expect.arrayContaining(names.map((name) => `${name} done`)));
  });

  test("no copy that is kept or brought back leaves anything open or beside", async () => {
    const { found, outcomes } = await leaks(backupActs, ({ host, folder }) => at(host, folder).backups);
    expect(found).toEqual([]);
    expect([...outcomes]).toEqual(expect.arrayContaining(["save done", "restore done"]));
  });

  test("no program and no download leaves anything open or beside", async () => {
    const { found, outcomes } = await leaks(hostActs, ({ host }) => host as Host);
    expect(found).toEqual([]);
    const may = ["a program in it", "a program that is given it", "a download"];
    expect([...outcomes]).toEqual(expect.arrayContaining(may.map((name) => `${name} done`)));
  });

  test.each([3, 200])("%i things that are made durable leave nothing open", async (count) => {
    const { host, folder } = prepare(owner);
    const { files } = at(host, folder);
    const before = open();
    for (const sub of ["folder", "full", "other"]) {
      if (sub === "other") files.makeDirectory(join(folder, sub), {});
      for (let n = 0; n < count / 3; n += 1) files.writeFile(join(folder, sub, `${n}`), bytes, {});
    }
    rmSync(join(folder, "other"), { recursive: true });
    await host.barrier();
    await expect.poll(open).toBeLessThanOrEqual(before);
  });
});
