import { readdirSync, readFileSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { LocalHost } from "../../lib/host/local-host.ts";
import { fileResourceType } from "../../lib/state/resources/file.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const megabyte = 1_048_576;
const sizeBytes = 64 * megabyte;

/** A file of 64 MiB, most of it a hole, so that nothing but reading it takes time. */
function large(): { host: LocalHost; base: string; path: string } {
  const base = temporaryFolder();
  const path = join(base, "large");
  writeFileSync(path, "begins");
  truncateSync(path, sizeBytes);
  return { host: new LocalHost({ stateFolder: join(base, "state") }), base, path };
}

/** Counts how often others had their turn. */
function countTurns(): { turns: () => number } {
  let turns = 0;
  let next = setImmediate(function count() {
    turns += 1;
    next = setImmediate(count);
  });
  onTestFinished(() => clearImmediate(next));
  return { turns: () => turns };
}

describe("a large file", () => {
  // Parts of it that hold something; what is left are holes.
  test.each([0, 1 / 64, 1 / 8, 1 / 4, 1 / 2, 15 / 16])(
    "that is full to %d of it takes no more room when it comes back than it took",
    async (full) => {
      const { host, base, path } = large();
      truncateSync(path, 0);
      writeFileSync(path, Buffer.alloc(Math.round(full * megabyte), "x"));
      truncateSync(path, megabyte);
      const { sha256 } = await host.backups.save(path);
      const back = join(base, "back");
      await host.backups.restore(sha256, back, { mode: 0o640 });
      expect(await host.files.hashFile(back)).toEqual({ sha256, sizeBytes: megabyte });
      expect(statSync(back).blocks * 512).toBeLessThan((full + 1 / 32) * megabyte);
    },
  );

  test("gives way to others many times while it is hashed, kept and brought back, and a small one never", async () => {
    const { host, base, path } = large();
    const { turns } = countTurns();
    const whole = host.sha256(readFileSync(path));
    expect(await host.files.hashFile(path)).toEqual({ sha256: whole, sizeBytes });
    expect(turns()).toBeGreaterThanOrEqual(10);
    expect(await host.backups.save(path)).toEqual({ sha256: whole, sizeBytes });
    expect(turns()).toBeGreaterThanOrEqual(20);
    await host.backups.restore(whole, join(base, "back"), { mode: 0o640 });
    expect(turns()).toBeGreaterThanOrEqual(30);
    expect(host.sha256(readFileSync(join(base, "back")))).toBe(whole);
    expect(statSync(join(base, "back")).mode & 0o777).toBe(0o640);
    for (const size of [0, 1, 65_536, 4 * megabyte - 1]) {
      truncateSync(path, size);
      expect(host.files.hashFile(path)).toEqual({ sha256: host.sha256(readFileSync(path)), sizeBytes: size });
    }
    for (const size of [4 * megabyte, 4 * megabyte + 1, 8 * megabyte]) {
      truncateSync(path, size);
      const digest = await host.files.hashFile(path);
      expect(digest).toEqual({ sha256: host.sha256(readFileSync(path)), sizeBytes: size });
    }
  });

  test("is left within a slice when that is wanted, and nothing of it stays anywhere", async () => {
    const { host, base, path } = large();
    const { sha256 } = await host.backups.save(path);
    writeFileSync(join(base, "back"), "mine");
    const reason = new Error("enough");
    const { turns } = countTurns();
    for (const act of [
      (signal: AbortSignal) => host.files.hashFile(path, signal),
      (signal: AbortSignal) => host.backups.save(path, { signal }),
      (signal: AbortSignal) => host.backups.restore(sha256, join(base, "back"), { signal }),
    ]) {
      const controller = new AbortController();
      const before = turns();
      const working = act(controller.signal);
      controller.abort(reason);
      await expect(working).rejects.toBe(reason);
      expect(turns() - before).toBeLessThanOrEqual(3);
    }
    expect(readFileSync(join(base, "back"), "utf8")).toBe("mine");
    expect(readdirSync(base).sort()).toEqual(["back", "large", "state"]);
    expect(readdirSync(join(base, "state/backups"))).toEqual([sha256]);
  });

  test("leaves nothing where it was half brought back by a process that was killed, once another has tried", async () => {
    const { host, base, path } = large();
    const { sha256 } = await host.backups.save(path);
    const stop = new AbortController();
    const restoring = host.backups.restore(sha256, join(base, "back"), { signal: stop.signal });
    const [part] = readdirSync(base).filter((name) => name.startsWith(".fleetwright-"));
    stop.abort(new Error("killed"));
    await expect(restoring).rejects.toThrow("killed");
    writeFileSync(join(base, part!), "half of another try");
    await host.backups.restore(sha256, join(base, "back"), {});
    expect(host.sha256(readFileSync(join(base, "back")))).toBe(sha256);
    expect(readdirSync(base).sort()).toEqual(["back", "large", "state"]);
  });

  test("is brought back below a guarded folder too, which may have become a link meanwhile", async () => {
    const { host, base, path } = large();
    const { sha256 } = await host.backups.save(path);
    const home = join(base, "home/sub");
    host.files.makeDirectory(join(base, "home"), {});
    host.files.makeDirectory(home, {});
    host.files.makeDirectory(join(base, "elsewhere"), {});
    const backups = host.backups.below(join(base, "home"));
    await backups.restore(sha256, join(home, "back"), { mode: 0o600 });
    expect(host.sha256(readFileSync(join(home, "back")))).toBe(sha256);
    const restoring = backups.restore(sha256, join(home, "again"), { mode: 0o600 });
    for (const name of host.files.list(home)) host.files.removeFile(join(home, name));
    host.files.removeDirectory(home);
    host.files.makeSymlink(home, join(base, "elsewhere"));
    await expect(restoring).rejects.toMatchObject({ code: "HOST_ERROR" });
    expect(readdirSync(join(base, "elsewhere"))).toEqual([]);
  });

  test("is compared, captured and brought back by a file resource as a small one is", async () => {
    const { host, path } = large();
    const signal = new AbortController().signal;
    const spec = { ...defaults, path, content: "small" };
    const sha256 = host.sha256(readFileSync(path));
    const changes = await fileResourceType.check(spec, host, signal);
    expect(changes).toMatchObject([{ property: "content", before: `sha256:${sha256} (${sizeBytes} bytes)` }]);
    const prior = await fileResourceType.capture(spec, host, signal);
    expect(prior).toMatchObject({ type: "file", spec: { content_backup: sha256 } });
    await fileResourceType.apply(spec, changes, host, signal);
    expect(readFileSync(path, "utf8")).toBe("small");
    const back = { ...defaults, path, content_backup: sha256 };
    await fileResourceType.apply(back, await fileResourceType.check(back, host, signal), host, signal);
    expect(await fileResourceType.check(back, host, signal)).toEqual([]);
    expect(host.sha256(readFileSync(path))).toBe(sha256);
  });
});

const defaults = { ensure: "present", backup: true, force: false } as const;
