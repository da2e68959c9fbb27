/** Files that appear, or are replaced, as a whole: whatever the disk does meanwhile. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import fs, { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { open } from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test, vi } from "vitest";
import { addAdminKey, readAdminKeys } from "../../../adapters/cli/admin-keys.ts";
import { replacePrivateFile } from "../../../adapters/cli/private-file.ts";
import { processContext } from "../../../adapters/cli/process-context.ts";
import { openSigner } from "../../../adapters/cli/sign-in-key.ts";
import { makeFile } from "../../../adapters/cli/work/new-file.ts";
import { runIn } from "../../support/command-line.ts";
import { failingAt } from "../../support/failing-files.ts";
import { failCall, limitWrites } from "../../support/small-disk.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const before = "the old keys\n";
const after = "the new keys, and one more\n";

function fileOf(): { folder: string; path: string } {
  const folder = temporaryFolder();
  const path = join(folder, "secrets.key");
  writeFileSync(path, before);
  return { folder, path };
}

test("a disk that takes a text in pieces is given all of them", () => {
  const { folder, path } = fileOf();
  limitWrites({ piece: 10 });
  replacePrivateFile(path, after);
  expect(readFileSync(path, "utf8")).toBe(after);
  expect(readdirSync(folder)).toEqual(["secrets.key"]);
});

test("a disk that is full in the middle leaves the old text, and nothing beside it", () => {
  const { folder, path } = fileOf();
  const { end } = limitWrites({ piece: 10, all: 20 });
  expect(() => replacePrivateFile(path, after, `${path}.${process.pid}`)).toThrow("ENOSPC");
  end();
  expect(readFileSync(path, "utf8")).toBe(before);
  expect(readdirSync(folder)).toEqual(["secrets.key"]);
});

test.each([
  ["the text", 1, before],
  ["the name", 2, after],
])("where a disk does not keep %s, that is told", (_, call, left) => {
  const { folder, path } = fileOf();
  const { end } = failCall("fsyncSync", call);
  expect(() => replacePrivateFile(path, after)).toThrow("EIO");
  end();
  expect(readFileSync(path, "utf8")).toBe(left);
  expect(readdirSync(folder)).toEqual(["secrets.key"]);
});

test(
  "commands that write the profile at the same time don't get in each other's way",
  { timeout: 120_000 },
  async () => {
    const folder = join(temporaryFolder(), "home");
    const program = fileURLToPath(new URL("../../support/profile-process.ts", import.meta.url));
    const env = { ...process.env, FLEETWRIGHT_HOME: folder };
    const ends = ["a", "b", "c"].map(async (name) => {
      const child = spawn(process.execPath, ["--import", "tsx", program, name], { env });
      let said = "";
      child.stderr.on("data", (piece: Buffer) => (said += piece.toString()));
      const [code] = (await once(child, "close")) as [number | null];
      return [code, said];
    });
    expect(await Promise.all(ends)).toEqual([0, 0, 0].map((code) => [code, ""]));
    const { token } = JSON.parse(readFileSync(join(folder, "profile.json"), "utf8")) as { token: string };
    expect(token).toMatch(/^fw_(a{20000}|b{20000}|c{20000})$/);
    expect(readdirSync(folder)).toEqual(["profile.json"]);
  },
);

test.each(["SIGINT", "SIGTERM", "SIGHUP"] as const)(
  "nothing stays of a new file where %s ends who makes it",
  async (signal) => {
    const folder = temporaryFolder();
    const program = fileURLToPath(new URL("../../support/making-process.ts", import.meta.url));
    const child = spawn(process.execPath, ["--import", "tsx", program, join(folder, "fleet.backup")]);
    await once(child.stdout, "data");
    expect(readdirSync(folder)).toHaveLength(1);
    child.kill(signal);
    expect(await once(child, "exit")).toEqual([null, signal]);
    expect(readdirSync(folder)).toEqual([]);
  },
);

test("a new file on a disk that is full is told by its name, and nothing stays of it", async () => {
  const path = join(temporaryFolder(), "fleet.backup");
  const full = await open("/dev/full", "w");
  const prototype = Object.getPrototypeOf(full) as typeof full;
  const { appendFile } = prototype;
  const failing = vi.spyOn(prototype, "appendFile").mockImplementation((data) => appendFile.call(full, data));
  onTestFinished(async () => {
    failing.mockRestore();
    await full.close();
  });
  await expect(makeFile(path, (append) => append(after))).rejects.toThrow(
    `${path} can't be written (ENOSPC).`,
  );
  expect(readdirSync(dirname(path))).toEqual([]);
});

test.each([
  ["text", false],
  ["name", true],
])("a new file whose %s can't be made durable is not there, and may be made again", async (_, isOfFolder) => {
  const folder = temporaryFolder();
  const path = join(folder, "fleet.backup");
  const handle = await open(folder, "r");
  const prototype = Object.getPrototypeOf(handle) as typeof handle;
  await handle.close();
  const { sync } = prototype;
  const failing = vi.spyOn(prototype, "sync").mockImplementation(async function (this: typeof handle) {
    if ((await this.stat()).isDirectory() === isOfFolder)
      throw Object.assign(new Error("EIO"), { code: "EIO" });
    await sync.call(this);
  });
  onTestFinished(() => failing.mockRestore());
  const make = (): Promise<void> => makeFile(path, (append) => append(after));
  await expect(make()).rejects.toThrow("EIO");
  expect(readdirSync(folder)).toEqual([]);
  failing.mockRestore();
  await make();
  expect(readFileSync(path, "utf8")).toBe(after);
});

test.each(["EIO", "ENOSPC"] as const)(
  "each call that replaces a file fails once with %s: it is the old one or the new one, and is replaced by the next try",
  (code) => {
    for (let number = 0; ; number++) {
      const { folder, path } = fileOf();
      const { failed, result: refusal } = failingAt(number, code, () => {
        try {
          replacePrivateFile(path, after);
          return null;
        } catch (error) {
          return error;
        }
      });
      const found = readFileSync(path, "utf8");
      expect(refusal === null ? [after] : [before, after], String(failed)).toContain(found);
      expect(readdirSync(folder), String(failed)).toEqual(["secrets.key"]);
      replacePrivateFile(path, after);
      expect(readFileSync(path, "utf8")).toBe(after);
      if (failed === null) break;
    }
  },
);

test("a new file that is on disk is there, whatever its close says, and nothing stays of how it was made", async () => {
  const path = join(temporaryFolder(), "fleet.backup");
  const { promises } = fs;
  const { open: opened } = promises;
  promises.open = async (...args) => {
    const handle = await opened(...args);
    const close = handle.close.bind(handle);
    handle.close = async () => {
      await close();
      throw Object.assign(new Error("EIO"), { code: "EIO" });
    };
    return handle;
  };
  syncBuiltinESMExports();
  onTestFinished(() => {
    promises.open = opened;
    syncBuiltinESMExports();
  });
  const listeners = process.listenerCount("SIGTERM");
  expect(await makeFile(path, (append) => append(after).then(() => "made"))).toBe("made");
  expect(readFileSync(path, "utf8")).toBe(after);
  expect(readdirSync(dirname(path))).toEqual(["fleet.backup"]);
  expect(process.listenerCount("SIGTERM")).toBe(listeners);
});

// A device that ends at once: of a pipe to which nobody writes the program would wait for the end.
test.each(["profile.json", "used-profile"])("a device in the place of %s is refused", async (name) => {
  const folder = temporaryFolder();
  mkdirSync(join(folder, "home"));
  const path = join(folder, "home", name);
  symlinkSync("/dev/null", path);
  const { code, stderr } = await runIn(folder, ["whoami"]);
  expect([code, stderr]).toEqual([
    1,
    `fleetwright: CONFIGURATION_INVALID: ${path} can't be read (no regular file).\n`,
  ]);
});

test("a device in the place of a key is refused", () => {
  const folder = temporaryFolder();
  const path = join(folder, "admin-keys");
  symlinkSync("/dev/null", path);
  expect(() => readAdminKeys(folder)).toThrow(`${path} can't be read (no regular file).`);
  expect(() => addAdminKey(folder, { public_key: "0".repeat(64) })).toThrow("no regular file");
  expect(() => openSigner(processContext, path)).toThrow(`${path} can't be read (no regular file).`);
});
