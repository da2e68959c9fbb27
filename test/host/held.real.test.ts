/** Files that can't be replaced as others are, on this machine: held, mounted on, of several names, full of holes, on a full disk. */
import { spawnSync } from "node:child_process";
import {
  chmodSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { JsonObject } from "../../lib/json.ts";
import { dress, look, usual } from "../support/machine/dressed-file.ts";
import { describeOnRealMachine, output } from "../support/machine/real-machine.ts";
import { RealState } from "../support/machine/real-state.ts";

let folder: string;
beforeEach(() => {
  // Others must be able to look into it.
  folder = mkdtempSync(join(tmpdir(), "fleetwright-extras-"));
  chmodSync(folder, 0o755);
});
afterEach(() => {
  spawnSync("umount", [join(folder, "file")]);
  spawnSync("chattr", ["-R", "-i", "-a", folder]);
  rmSync(folder, { recursive: true });
});

const needs = { programs: ["setfacl", "getfattr", "chattr", "setcap", "mount"] };

describeOnRealMachine("files that can't be replaced", needs, () => {
  test("an immutable or append-only file is refused by the plan and the apply, in words, and stays", async () => {
    const path = join(folder, "file");
    const definitions: JsonObject[] = [
      { id: "r", type: "file", path, content: "new\n" },
      { id: "r", type: "file", path, mode: "0600" },
      { id: "r", type: "file", path, ensure: "absent" },
      { id: "r", type: "line", path, line: "new" },
      { id: "r", type: "symlink", path, target: "x", force: true },
      { id: "r", type: "file", path: join(folder, "other"), content: "new\n" },
    ];
    writeFileSync(path, "old\n");
    for (const [flag, word] of [
      ["i", "immutable"],
      ["a", "append-only"],
    ] as const) {
      for (const [index, definition] of definitions.entries()) {
        using state = new RealState();
        const target = index === 5 ? folder : path;
        output("chattr", `+${flag}`, target);
        const before = [look(path), output("ls", "-A", folder)];
        const refused = expect.stringMatching(new RegExp(`HOST_ERROR: .* ${word} \\(chattr \\+${flag}\\).*`));
        const { results } = await state.run("plan", [definition]);
        expect(results.map(({ code, message }) => `${code}: ${message}`)).toEqual([refused]);
        expect(await state.apply([definition])).toEqual([refused]);
        expect([look(path), output("ls", "-A", folder)]).toEqual(before);
        output("chattr", `-${flag}`, target);
        expect(readFileSync(path, "utf8")).toBe("old\n");
      }
    }
  });

  test("a file that something is mounted on is written in its place, and can't be taken away, as the plan says", async () => {
    using state = new RealState();
    const [path, source] = [join(folder, "file"), join(folder, "source")];
    for (const each of [path, source]) writeFileSync(each, "old\n");
    dress(source, usual);
    output("mount", "--bind", source, path);
    const before = [look(path), statSync(path).ino];
    const wanted = [{ id: "r", type: "file", path, content: "a longer new content\n" }];
    expect((await state.run("plan", wanted)).results[0]?.outcome).toBe("would_change");
    expect(await state.apply(wanted)).toEqual(["r changed update"]);
    expect(readFileSync(source, "utf8")).toBe("a longer new content\n");
    expect([look(path), statSync(path).ino]).toEqual(before);
    expect(await state.apply([])).toEqual(["r changed remove"]);
    expect([readFileSync(source, "utf8"), look(path)]).toEqual(["old\n", before[0]]);

    const refused = expect.stringMatching(/^r HOST_ERROR: .*mounted/);
    const absent = [{ id: "r", type: "file", path, ensure: "absent" }];
    const said = async (): Promise<string[]> =>
      (await state.run("plan", absent)).results.map(({ code, message }) => `r ${code}: ${message}`);
    expect(await said()).toEqual([refused]);
    expect(await state.apply(absent)).toEqual([refused]);

    output("mount", "-o", "remount,bind,ro", path);
    const { results } = await state.run("plan", wanted);
    expect(results[0]).toMatchObject({
      outcome: "failed",
      message: expect.stringMatching(/read-only/),
    });
    expect(output("ls", "-A", folder)).toBe("file\nsource\n");
  });

  test("a broken link is told, one that is to be kept is kept, by each type", async () => {
    const types: JsonObject[] = [
      { type: "file", content: "new\n" },
      { type: "line", line: "new" },
      { type: "block", content: "new\n" },
    ];
    for (const [index, type] of types.entries()) {
      for (const hard_links of ["break", "keep"]) {
        using state = new RealState();
        const [path, other] = [
          join(folder, `${index}-${hard_links}`),
          join(folder, `${index}-${hard_links}-other`),
        ];
        writeFileSync(path, "a long old content\n");
        linkSync(path, other);
        dress(path, usual);
        const before = look(other);
        const plan = await state.run("plan", [{ id: "r", ...type, path, hard_links }]);
        const told = plan.results[0]?.changes.filter(({ property }) => property === "hard_links");
        expect(told).toEqual(hard_links === "keep" ? [] : [{ property: "hard_links", before: 2, after: 1 }]);
        expect(await state.apply([{ id: "r", ...type, path, hard_links }])).toEqual([
          expect.stringMatching(/^r changed/),
        ]);
        const isSame = statSync(path).ino === statSync(other).ino;
        expect(isSame).toBe(hard_links === "keep");
        expect(readFileSync(other, "utf8").includes("new")).toBe(isSame);
        await state.apply([]);
        expect(readFileSync(path, "utf8")).toBe("a long old content\n");
        expect(readFileSync(other, "utf8")).toBe("a long old content\n");
        expect([look(path), look(other)]).toEqual([before, before]);
        expect(statSync(path).ino === statSync(other).ino).toBe(isSame);
      }
    }
  });

  test("a sparse file is kept and comes back sparse", async () => {
    using state = new RealState();
    const path = join(folder, "sparse");
    writeFileSync(path, "begin");
    truncateSync(path, 64 * 1024 * 1024);
    output(
      "dd",
      "if=/dev/urandom",
      `of=${path}`,
      "bs=1",
      "count=5000",
      "seek=30000001",
      "conv=notrunc",
      "status=none",
    );
    truncateSync(path, 64 * 1024 * 1024 + 17);
    const sum = output("sha256sum", path);
    const room = statSync(path).blocks;
    expect(room).toBeLessThan(100);
    await state.apply([{ type: "file", path, content: "small\n" }]);
    expect(
      Number(output("du", "-s", "--block-size=512", join(state.folder, "state")).split("\t")[0]),
    ).toBeLessThan(400);
    expect((await state.apply([]))[0]).toContain(" changed remove");
    expect(output("sha256sum", path)).toBe(sum);
    expect(statSync(path).blocks).toBeLessThanOrEqual(room);
  });

  test("a disk that is full while a file is written in its place leaves the old content", async () => {
    const disk = join(folder, "disk");
    mkdirSync(disk);
    output("mount", "-t", "tmpfs", "-o", "size=1m,mode=755", "tmpfs", disk);
    try {
      using state = new RealState();
      const [path, other] = [join(disk, "file"), join(disk, "other")];
      writeFileSync(path, "o".repeat(200_000));
      linkSync(path, other);
      const content = "n".repeat(500_000);
      const done = await state.apply([{ id: "r", type: "file", path, content, hard_links: "keep" }]);
      expect(done).toEqual([expect.stringMatching(/^r HOST_ERROR: disk full/)]);
      expect(readFileSync(other, "utf8")).toBe("o".repeat(200_000));
      expect(output("ls", "-A", disk)).toBe("file\nother\n");
    } finally {
      output("umount", disk);
    }
  });
});
