/** What the owner of a file has open when it becomes somebody else's, or gets rights that he does not have. */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  chownSync,
  closeSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  truncateSync,
  utimesSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { systemClock } from "../../lib/clock.ts";
import { LocalHost } from "../../lib/host/local-host.ts";
import type { JsonObject } from "../../lib/json.ts";
import type { AppliedResource } from "../../lib/state/run/applied-resource.ts";
import { runState, type StateRunResult } from "../../lib/state/run/engine.ts";
import type { RunMode } from "../../lib/state/run/state-run.ts";
import { declare } from "../support/state-fixture.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const stranger = 65_534;
const isRoot = process.platform === "linux" && process.getuid?.() === 0;
if (!isRoot) console.warn("Skipped: files that change hands: only root can give a file away.");

/** Opens and maps a file as the stranger, and writes to it by both when it is told to. */
const writer = `
import mmap, sys
file = open(sys.argv[1], "r+b", buffering=0)
mapped = mmap.mmap(file.fileno(), 0)
print("open", flush=True)
sys.stdin.readline()
file.write(b"EVIL")
mapped[4:8] = b"EVIL"
mapped.flush()
`;

/** A file of the stranger's, or of root's that he may write to, in a folder of root's or his own. */
class Scene {
  readonly base = temporaryFolder();
  readonly folder = join(this.base, "folder");
  readonly path = join(this.folder, "file");
  readonly host = new LocalHost({ stateFolder: join(this.base, "state") });
  applied: AppliedResource[] = [];

  constructor({ mode = 0o755, uid = stranger, folderUid = 0 } = {}) {
    chmodSync(this.base, 0o755);
    mkdirSync(this.folder, { mode: 0o755 });
    chownSync(this.folder, folderUid, folderUid);
    writeFileSync(this.path, "good content\n");
    chownSync(this.path, uid, uid);
    chmodSync(this.path, mode);
  }

  async run(mode: RunMode, definitions: JsonObject[]): Promise<StateRunResult["results"]> {
    const { host, applied } = this;
    const result = await runState({
      mode,
      desired: declare(definitions),
      applied,
      host,
      clock: systemClock,
      signal: new AbortController().signal,
      timeoutMs: 60_000,
    });
    this.applied = result.applied;
    return result.results;
  }

  /** Lets the stranger open the file; what is returned lets him write. */
  async open(): Promise<() => Promise<void>> {
    const child: ChildProcess = spawn("/usr/bin/python3", ["-c", writer, this.path], {
      uid: stranger,
      gid: stranger,
      stdio: ["pipe", "pipe", "inherit"],
    });
    onTestFinished(() => void child.kill("SIGKILL"));
    await once(child.stdout!, "data");
    return async () => {
      child.stdin!.end("\n");
      const [code] = (await once(child, "exit")) as [number | null];
      if (code !== 0) throw new Error(`The file could not be written to: ${code}.`);
    };
  }
}

const content = "good content\n";
const declared: Record<string, { start?: ConstructorParameters<typeof Scene>[0]; spec: JsonObject }> = {
  "an owner": { spec: { owner: "0" } },
  "another unprivileged owner": { spec: { owner: "2" } },
  "an owner, where the content is declared": { spec: { owner: "0", content } },
  "an owner, in a folder of his own": { start: { folderUid: stranger }, spec: { owner: "0", group: "0" } },
  "a set-user-id bit": { spec: { mode: "4755" } },
  "a set-group-id bit for another group": { spec: { mode: "2755", group: "2" } },
  "an owner and a set-user-id bit": { spec: { owner: "0", mode: "4755", content } },
  "a set-user-id bit, where root owns it and everybody may write": {
    start: { uid: 0, mode: 0o666 },
    spec: { mode: "4755" },
  },
};

describe.runIf(isRoot)("who has a file open", () => {
  test.each(Object.entries(declared))("can't change it once it has %s", async (_what, { start, spec }) => {
    const scene = new Scene(start);
    const { path } = scene;
    const past = new Date("2020-02-02T02:02:02Z");
    utimesSync(path, past, past);
    const before = lstatSync(path);
    const write = await scene.open();
    const definitions = [{ type: "file", path, ...spec }];
    expect(await scene.run("plan", definitions)).toMatchObject([{ outcome: "would_change" }]);
    expect(await scene.run("apply", definitions)).toMatchObject([{ outcome: "changed" }]);
    await write();
    expect(readFileSync(path, "utf8")).toBe(content);
    const after = lstatSync(path);
    expect(after.ino).not.toBe(before.ino);
    if (spec["content"] === undefined) expect(after.mtime).toEqual(past);
    expect(await scene.run("apply", definitions)).toMatchObject([{ outcome: "unchanged" }]);
    expect(await scene.run("apply", [])).toMatchObject([{ outcome: "changed" }]);
    const { mode, uid, gid } = lstatSync(path);
    expect({ mode, uid, gid }).toEqual({ mode: before.mode, uid: before.uid, gid: before.gid });
    expect(readdirSync(scene.folder)).toEqual(["file"]);
  });

  test("can't change it once a folder gives all that is in it another owner", async () => {
    const scene = new Scene();
    const { path, folder } = scene;
    const write = await scene.open();
    const definition = { type: "directory", path: folder, owner: "0", recurse: true };
    expect(await scene.run("apply", [definition])).toMatchObject([{ outcome: "changed" }]);
    await write();
    expect([lstatSync(path).uid, readFileSync(path, "utf8")]).toEqual([0, content]);
  });

  test("goes on where nothing is given away: the file stays the one it is", async () => {
    for (const spec of [{ mode: "0644" }, { group: "2" }, { owner: String(stranger), mode: "0700" }]) {
      const scene = new Scene();
      const { ino } = lstatSync(scene.path);
      expect(await scene.run("apply", [{ type: "file", path: scene.path, ...spec }])).toMatchObject([
        { outcome: "changed" },
      ]);
      expect(lstatSync(scene.path).ino).toBe(ino);
    }
  });

  test("puts nothing of his own into it where the content is declared, also while it is written", async () => {
    const scene = new Scene();
    const { path, host } = scene;
    const compare = host.files.compareFile.bind(host.files);
    const fd = openSync(path, "r+");
    onTestFinished(() => closeSync(fd));
    // Whenever somebody looks it is right, and at no other time.
    host.files.compareFile = (at, wanted) => {
      writeSync(fd, "good", 0);
      const found = compare(at, wanted);
      writeSync(fd, "evil", 0);
      return found;
    };
    const definitions = [{ type: "file", path, content, owner: "0", mode: "4755", backup: false }];
    expect(await scene.run("apply", definitions)).toMatchObject([{ outcome: "changed" }]);
    expect(readFileSync(path, "utf8")).toBe(content);
  });

  test("keeps what his other names of it name, and the plan says that they part", async () => {
    const scene = new Scene();
    const { path, base } = scene;
    const other = join(base, "other");
    linkSync(path, other);
    const definitions = [{ type: "file", path, owner: "0" }];
    const told = { changes: expect.arrayContaining([{ property: "hard_links", before: 2, after: 1 }]) };
    expect(await scene.run("plan", definitions)).toMatchObject([{ outcome: "would_change", ...told }]);
    expect(await scene.run("apply", definitions)).toMatchObject([{ outcome: "changed", ...told }]);
    expect([lstatSync(path).uid, lstatSync(other).uid]).toEqual([0, stranger]);
  });

  test.each([
    ["owner alone", { owner: "0" }],
    ["content and owner", { owner: "0", content: "new\n" }],
    ["content and mode", { mode: "4755", content: "new\n" }],
  ])("is why a file that keeps its other names is refused by plan and apply: %s", async (_what, spec) => {
    const scene = new Scene({ folderUid: 0 });
    const { path, base } = scene;
    linkSync(path, join(base, "other"));
    const definitions = [{ type: "file", path, hard_links: "keep", ...spec }];
    const refused = {
      outcome: "failed",
      code: "HOST_ERROR",
      message: expect.stringContaining("it can't be given to another owner"),
    };
    const look = (): unknown => [{ ...lstatSync(path), atime: 0, atimeMs: 0 }, readFileSync(path, "utf8")];
    const before = look();
    expect(await scene.run("plan", definitions)).toMatchObject([refused]);
    expect(await scene.run("apply", definitions)).toMatchObject([refused]);
    expect(look()).toEqual(before);
    expect(scene.applied).toEqual([]);
  });

  test("is why a file that something is mounted on is refused by plan and apply", async ({ skip }) => {
    const scene = new Scene();
    const { path, base } = scene;
    const below = join(base, "below");
    writeFileSync(below, content);
    chownSync(below, stranger, stranger);
    try {
      execFileSync("mount", ["--bind", below, path], { stdio: "pipe" });
    } catch (error) {
      console.warn(`Skipped: nothing can be mounted here (${String(error).slice(0, 200)}).`);
      skip("no mounts");
    }
    onTestFinished(() => void execFileSync("umount", [path]));
    for (const spec of [{ owner: "0" }, { owner: "0", content: "new\n" }]) {
      const definitions = [{ type: "file", path, ...spec }];
      const refused = {
        outcome: "failed",
        code: "HOST_ERROR",
        message: expect.stringContaining("it can't be given to another owner"),
      };
      expect(await scene.run("plan", definitions)).toMatchObject([refused]);
      expect(await scene.run("apply", definitions)).toMatchObject([refused]);
      expect([lstatSync(path).uid, readFileSync(path, "utf8")]).toEqual([stranger, content]);
    }
  });

  test("costs a large file nothing but room: it stays sparse, and others get their turn", async () => {
    const scene = new Scene();
    const { path, host } = scene;
    truncateSync(path, 64 * 1024 * 1024);
    const changing = host.files.setAttributes(path, { uid: 0 });
    expect(changing).toBeInstanceOf(Promise);
    await changing;
    const { blocks, size, uid } = lstatSync(path);
    expect([size, uid, blocks < 1024, readdirSync(dirname(path))]).toEqual([
      64 * 1024 * 1024,
      0,
      true,
      ["file"],
    ]);
  });
});
