/** Archives whose links would have what comes after them written elsewhere. */
import { execFileSync } from "node:child_process";
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { systemClock } from "../../../../lib/clock.ts";
import { LocalHost } from "../../../../lib/host/local-host.ts";
import type { ResourceResult } from "../../../../lib/state/result.ts";
import type { AppliedResource } from "../../../../lib/state/run/applied-resource.ts";
import { runState } from "../../../../lib/state/run/engine.ts";
import { hasPrograms } from "../../../support/programs.ts";
import { declare } from "../../../support/state-fixture.ts";
import { temporaryFolder } from "../../../support/temporary-folder.ts";

class Scene {
  readonly folder = temporaryFolder();
  readonly path = join(this.folder, "out");
  readonly outside = join(this.folder, "outside");
  readonly host = new LocalHost({ stateFolder: join(this.folder, "state") });
  #applied: AppliedResource[] = [];

  constructor() {
    mkdirSync(this.path);
    mkdirSync(this.outside);
  }

  /** A tar archive of these in this order, each packed by itself: a name with an arrow is a link. */
  pack(...entries: readonly string[]): string {
    const archive = join(this.folder, `${entries.join("+").replaceAll(/[^a-z+]/g, "")}.tar`);
    for (const entry of entries) {
      const tree = temporaryFolder();
      const [name = "", target] = entry.split(" -> ");
      const place = join(tree, name);
      mkdirSync(dirname(place), { recursive: true });
      if (target !== undefined) symlinkSync(target, place);
      else if (name.endsWith("/")) mkdirSync(place);
      else writeFileSync(place, "archived");
      const mode = existsSync(archive) ? "-r" : "-c";
      execFileSync("tar", ["-C", tree, mode, "-f", archive, "--no-recursion", name]);
    }
    return archive;
  }

  async run(source: string | null): Promise<ResourceResult | undefined> {
    const definition = { type: "archive", path: this.path, source };
    const { results, applied } = await runState({
      mode: "apply",
      desired: declare(source === null ? [] : [definition]),
      applied: this.#applied,
      host: this.host,
      clock: systemClock,
      signal: new AbortController().signal,
      timeoutMs: 60_000,
    });
    this.#applied = applied;
    return results[0];
  }

  /** A file in the folder that somebody else made. */
  theirs(name: string): string {
    const path = join(this.path, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, "theirs");
    return path;
  }
}

const refused = { outcome: "failed", code: "HOST_ERROR" };

describe.skipIf(!hasPrograms("archives with links", "tar", "find"))("an archive with links", () => {
  test.each([
    ["before", ["x -> theirs", "x/d/evil"]],
    ["after", ["x/d/evil", "x -> theirs"]],
    ["as a folder too", ["x -> theirs", "x/d/evil", "x/"]],
  ])("overwrites nothing where a link leads that it lists %s", async (_when, entries) => {
    const scene = new Scene();
    const theirs = scene.theirs("theirs/d/evil");
    expect(await scene.run(scene.pack(...entries))).toMatchObject(refused);
    expect(readFileSync(theirs, "utf8")).toBe("theirs");
    expect(readdirSync(scene.path)).toEqual(["theirs"]);
  });

  test.each([[["x -> d", "x/d/evil"]], [["x/d/evil", "x -> d"]]])(
    "writes nothing where somebody had a link of its last version lead: %j",
    async (entries) => {
      const scene = new Scene();
      expect(await scene.run(scene.pack("x -> d"))).toMatchObject({ outcome: "changed" });
      rmSync(join(scene.path, "x"));
      symlinkSync(scene.outside, join(scene.path, "x"));
      expect(await scene.run(scene.pack(...entries))).toMatchObject(refused);
      expect(readdirSync(scene.outside)).toEqual([]);
    },
  );

  test.each([
    ["changed", ["x/", "z"]],
    ["failed", ["x/d/evil"]],
    ["failed", ["x/", "x/evil"]],
  ])(
    "leaves what a link leads to that stands in the place of one of its folders: %s",
    async (outcome, entries) => {
      const scene = new Scene();
      expect(await scene.run(scene.pack("x/", "y"))).toMatchObject({ outcome: "changed" });
      rmSync(join(scene.path, "x"), { recursive: true });
      symlinkSync(scene.outside, join(scene.path, "x"));
      const before = lstatSync(scene.outside);
      expect(await scene.run(scene.pack(...entries))).toMatchObject({ outcome });
      expect(lstatSync(join(scene.path, "x")).isDirectory()).toBe(outcome === "changed");
      expect(readdirSync(scene.outside)).toEqual([]);
      const { mode, mtimeMs } = lstatSync(scene.outside);
      expect({ mode, mtimeMs }).toEqual({ mode: before.mode, mtimeMs: before.mtimeMs });
    },
  );

  test.each([
    ["the same archive", ["d/a", "x", "z"]],
    ["another version of it", ["d/a", "n", "x", "z"]],
  ])("changes nothing where somebody made a folder in the place of a file: %s", async (_which, entries) => {
    const scene = new Scene();
    expect(await scene.run(scene.pack("d/a", "x", "z"))).toMatchObject({ outcome: "changed" });
    const place = join(scene.path, "x");
    rmSync(place);
    const theirs = scene.theirs("x/theirs");
    rmSync(join(scene.path, "d/a"));
    const result = await scene.run(scene.pack(...entries));
    expect(result).toMatchObject({ ...refused, message: expect.stringContaining(`${place} is a folder`) });
    expect(readFileSync(theirs, "utf8")).toBe("theirs");
    expect(readdirSync(scene.path).toSorted()).toEqual([".fleetwright-archive", "d", "x", "z"]);
    expect(readdirSync(join(scene.path, "d"))).toEqual([]);
  });

  test.each([
    ["a file", "d/theirs", "d"],
    ["a link", "d/theirs", "d -> x"],
    ["a file, deep in it", "d/e/theirs", "d"],
    ["a file, in the place of one of its own", "d/a/theirs", "d"],
  ])(
    "changes nothing where others have something in a folder that becomes %s",
    async (_kind, name, entry) => {
      const scene = new Scene();
      expect(await scene.run(scene.pack("d/a", "d/e/b", "x"))).toMatchObject({ outcome: "changed" });
      if (name.startsWith("d/a/")) rmSync(join(scene.path, "d/a"));
      const theirs = scene.theirs(name);
      const all = (): string[] => readdirSync(scene.path, { recursive: true }).map(String).toSorted();
      const before = all();
      const place = join(scene.path, "d");
      const next = scene.pack(entry, "n", "x");
      const result = await scene.run(next);
      expect(result).toMatchObject({ ...refused, message: expect.stringContaining(`${place} is a folder`) });
      expect(all()).toEqual(before);
      rmSync(name.startsWith("d/a/") ? dirname(theirs) : theirs, { recursive: true });
      expect(await scene.run(next)).toMatchObject({ outcome: "changed" });
      expect(all()).toEqual([".fleetwright-archive", "d", "n", "x"]);
    },
  );

  test.each([
    ["case", ["X -> theirs", "x/d/f"]],
    ["how a letter is put together", ["\u00fc -> theirs", "u\u0308/d/f"]],
  ])("with names that may be one where %s does not count is extracted apart", async (_what, entries) => {
    const scene = new Scene();
    const theirs = scene.theirs("theirs/d/f");
    const { host } = scene;
    const run = host.run.bind(host);
    const into: unknown[] = [];
    host.run = (command, signal) => {
      if (command.argv.includes("--extract")) into.push(Object.values(command.opens ?? {}).at(-1));
      return run(command, signal);
    };
    expect(await scene.run(scene.pack(...entries))).toMatchObject({ outcome: "changed" });
    expect(into).toEqual([expect.stringContaining(join(scene.folder, "state"))]);
    expect(readFileSync(theirs, "utf8")).toBe("theirs");
    expect(readFileSync(join(scene.path, entries[1] ?? ""), "utf8")).toBe("archived");
  });
});
