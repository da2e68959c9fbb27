/** Zip archives of which unzip makes something else than it lists. */
import { execFileSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { crc32 } from "node:zlib";
import { describe, expect, test } from "vitest";
import { systemClock } from "../../../../lib/clock.ts";
import { LocalHost } from "../../../../lib/host/local-host.ts";
import type { ResourceResult } from "../../../../lib/state/result.ts";
import { runState } from "../../../../lib/state/run/engine.ts";
import { hasPrograms } from "../../../support/programs.ts";
import { declare } from "../../../support/state-fixture.ts";
import { temporaryFolder } from "../../../support/temporary-folder.ts";

const [fat, unix] = [0, 3];

interface Packed {
  name: string;
  content?: string;
  system?: number;
  /** Type and permissions as Unix has them. */
  mode?: number;
  extra?: Buffer;
}

/** An archive with one file that is not compressed, as no program packs it. */
function zip({ name, content = "archived", system = unix, mode = 0o100644, extra }: Packed): Buffer {
  const [path, body, more] = [Buffer.from(name, "latin1"), Buffer.from(content), extra ?? Buffer.alloc(0)];
  const shared = Buffer.alloc(26);
  shared.writeUInt16LE(20, 0);
  shared.writeUInt16LE(0x21, 8);
  shared.writeUInt32LE(crc32(body), 10);
  shared.writeUInt32LE(body.length, 14);
  shared.writeUInt32LE(body.length, 18);
  shared.writeUInt16LE(path.length, 22);
  shared.writeUInt16LE(more.length, 24);
  const local = Buffer.concat([Buffer.from("PK\u0003\u0004"), shared, path, more, body]);
  const rest = Buffer.alloc(14);
  rest.writeUInt32LE((mode << 16) >>> 0, 6);
  const made = Buffer.from([20, system]);
  const central = Buffer.concat([Buffer.from("PK\u0001\u0002"), made, shared, rest, path, more]);
  const end = Buffer.alloc(18);
  end.writeUInt16LE(1, 4);
  end.writeUInt16LE(1, 6);
  end.writeUInt32LE(central.length, 8);
  end.writeUInt32LE(local.length, 12);
  return Buffer.concat([local, central, Buffer.from("PK\u0005\u0006"), end]);
}

/** What some programs say of a file beside what zip itself has a place for: a link that is listed as a file. */
function linkField(target: string): Buffer {
  const said = Buffer.alloc(10);
  said.writeUInt16LE(0o120777, 0);
  said.writeUInt32LE(target.length, 2);
  const body = Buffer.concat([said, Buffer.from(target)]);
  const head = Buffer.alloc(8);
  head.writeUInt16LE(0x756e, 0);
  head.writeUInt16LE(4 + body.length, 2);
  head.writeUInt32LE(crc32(body), 4);
  return Buffer.concat([head, body]);
}

class Scene {
  readonly folder = temporaryFolder();
  readonly path = join(this.folder, "out");
  readonly outside = join(this.folder, "outside");

  constructor() {
    mkdirSync(this.path);
    mkdirSync(this.outside, { mode: 0o755 });
    writeFileSync(join(this.path, "theirs"), "theirs");
  }

  async run(archive: Buffer): Promise<ResourceResult | undefined> {
    const source = join(this.folder, "a.zip");
    writeFileSync(source, archive);
    const { results } = await runState({
      mode: "apply",
      desired: declare([{ type: "archive", path: this.path, source }]),
      applied: [],
      host: new LocalHost({ stateFolder: join(this.folder, "state") }),
      clock: systemClock,
      signal: new AbortController().signal,
      timeoutMs: 60_000,
    });
    return results[0];
  }

  names(): string[] {
    return readdirSync(this.path).filter((name) => !name.startsWith(".fleetwright-"));
  }
}

describe.skipIf(!hasPrograms("zip archives", "unzip"))("a zip archive", () => {
  test.each(["theirs;1", "th\u007feirs"])(
    "keeps a name of which unzip would leave something out: %j",
    async (name) => {
      const scene = new Scene();
      expect(await scene.run(zip({ name }))).toMatchObject({ outcome: "changed" });
      expect(readFileSync(join(scene.path, "theirs"), "utf8")).toBe("theirs");
      expect(readFileSync(join(scene.path, name), "utf8")).toBe("archived");
    },
  );

  test.each(["th\u0001eirs", ".\u0001./evil", "\u00ff", "th\neirs"])(
    "with a name that can't be listed as it is puts nothing there: %j",
    async (name) => {
      const scene = new Scene();
      expect(await scene.run(zip({ name }))).toMatchObject({ outcome: "failed" });
      expect(readFileSync(join(scene.path, "theirs"), "utf8")).toBe("theirs");
      expect(scene.names()).toEqual(["theirs"]);
      expect(readdirSync(scene.folder).sort()).toEqual(["a.zip", "out", "outside", "state"]);
    },
  );

  test("with carets in a name is extracted as it is", async () => {
    const scene = new Scene();
    expect(await scene.run(zip({ name: "a^A" }))).toMatchObject({ outcome: "changed" });
    expect(scene.names()).toEqual(["a^A", "theirs"]);
  });

  test("with the separators of another system is refused", async () => {
    const scene = new Scene();
    symlinkSync(scene.outside, join(scene.path, "x"));
    const archive = zip({ name: "x\\d\\evil", system: fat, mode: 0 });
    expect(await scene.run(archive)).toMatchObject({ outcome: "failed", code: "HOST_ERROR" });
    expect(readdirSync(scene.outside)).toEqual([]);
    expect(await scene.run(zip({ name: "x\\d" }))).toMatchObject({ outcome: "changed" });
    expect(scene.names()).toEqual(["theirs", "x", "x\\d"]);
  });

  test("with backslashes beside slashes, as git writes names of units, is extracted as it is", async () => {
    const scene = new Scene();
    const name = "units/system-systemd\\x2dcryptsetup.slice";
    expect(await scene.run(zip({ name, system: fat, mode: 0 }))).toMatchObject({ outcome: "changed" });
    expect(readdirSync(join(scene.path, "units"))).toEqual(["system-systemd\\x2dcryptsetup.slice"]);
  });

  test.skipIf(process.getuid?.() !== 0)(
    "that is extracted apart gives what it holds the group of the folder that says so",
    async () => {
      const scene = new Scene();
      chownSync(scene.path, 0, 33);
      chmodSync(scene.path, 0o2755);
      expect(await scene.run(zip({ name: "app/x.txt", mode: 0o600 }))).toMatchObject({ outcome: "changed" });
      const [folder, file] = ["app", "app/x.txt"].map((name) => statSync(join(scene.path, name)));
      expect([folder!.gid, folder!.mode & 0o7777, file!.gid, file!.mode & 0o7777]).toEqual([
        33, 0o2755, 33, 0o600,
      ]);
    },
  );

  test("with a link that is listed as a file puts none there, and leaves what it leads to", async () => {
    const scene = new Scene();
    const { outside } = scene;
    const link: Packed = { name: "link", content: outside, mode: 0, extra: linkField(outside) };
    expect(await scene.run(zip(link))).toMatchObject({ outcome: "failed", code: "HOST_ERROR" });
    expect(statSync(outside).mode & 0o777).toBe(0o755);
    expect(scene.names()).toEqual(["theirs"]);
  });

  test("writes over a link to a file, not into the file", async () => {
    const scene = new Scene();
    const victim = join(scene.outside, "victim");
    writeFileSync(victim, "victim");
    expect(await scene.run(zip({ name: "f" }))).toMatchObject({ outcome: "changed" });
    execFileSync("ln", ["-sfn", victim, join(scene.path, "f")]);
    expect(await scene.run(zip({ name: "f", content: "again" }))).toMatchObject({ outcome: "changed" });
    expect(lstatSync(join(scene.path, "f")).isFile()).toBe(true);
    expect(readFileSync(victim, "utf8")).toBe("victim");
  });
});
