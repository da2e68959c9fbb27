/** What the owner of a folder can do while the agent works in it. */
import { execFileSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { LocalHost } from "../../lib/host/local-host.ts";
import { LocalPaths, PathsBelow } from "../../lib/host/local-paths.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

test.runIf(process.platform === "linux")(
  "a link that takes the place of a folder while a call is made leads nowhere",
  () => {
    const base = temporaryFolder();
    const home = join(base, "home");
    mkdirSync(join(home, ".ssh"), { recursive: true });
    mkdirSync(join(base, "secret"));
    new PathsBelow(new LocalPaths(), home).use(join(home, ".ssh/keys"), (real, lasting) => {
      renameSync(join(home, ".ssh"), join(home, "moved"));
      symlinkSync(join(base, "secret"), join(home, ".ssh"));
      writeFileSync(real, "key");
      expect(lasting).toBe(join(home, ".ssh/keys"));
    });
    expect(readdirSync(join(base, "secret"))).toEqual([]);
    expect(readFileSync(join(home, "moved/keys"), "utf8")).toBe("key");
  },
);

test("no open folder is left behind, whether it went well or not", () => {
  const base = temporaryFolder();
  mkdirSync(join(base, "home/a/b"), { recursive: true });
  symlinkSync("/", join(base, "home/a/link"));
  const { files } = new LocalHost({ stateFolder: join(base, "state") });
  const below = files.below(join(base, "home"));
  const open = (): number => (existsSync("/proc/self/fd") ? readdirSync("/proc/self/fd").length : 0);
  const before = open();
  for (let index = 0; index < 20; index += 1) {
    below.writeFile(join(base, "home/a/b/file"), Buffer.from("x"), {});
    expect(() => below.stat(join(base, "home/a/link/etc"))).toThrow();
    expect(below.stat(join(base, "home/none/deep"))).toBeNull();
  }
  expect(open()).toBe(before);
});

test("a pipe that takes the place of a file that was written does not hold up the barrier", async () => {
  const base = temporaryFolder();
  const host = new LocalHost({ stateFolder: join(base, "state") });
  const path = join(base, "file");
  host.files.writeFile(path, Buffer.from("x"), {});
  rmSync(path);
  execFileSync("mkfifo", [path]);
  await host.barrier();
  expect(host.files.stat(path)?.kind).toBe("other");
});

test("a copy is neither taken nor put back through a link that was put in the way", async () => {
  const base = temporaryFolder();
  const home = join(base, "home");
  mkdirSync(join(home, "sub"), { recursive: true });
  mkdirSync(join(base, "secret"));
  writeFileSync(join(home, "sub/key"), "mine");
  writeFileSync(join(base, "secret/key"), "root");
  const host = new LocalHost({ stateFolder: join(base, "state") });
  const backups = host.backups.below(home);
  const { sha256 } = await backups.save(join(home, "sub/key"));
  rmSync(join(home, "sub"), { recursive: true });
  symlinkSync(join(base, "secret"), join(home, "sub"));
  const refusal = expect.objectContaining({ details: expect.objectContaining({ errno: "ELOOP" }) });
  expect(() => backups.save(join(home, "sub/key"))).toThrow(refusal);
  expect(() => backups.restore(sha256, join(home, "sub/key"), {})).toThrow(refusal);
  expect(readFileSync(join(base, "secret/key"), "utf8")).toBe("root");
});

test("a file that took the place of the one that was looked at is neither read nor kept", () => {
  const base = temporaryFolder();
  const path = join(base, "file");
  writeFileSync(path, "mine", { mode: 0o644 });
  const host = new LocalHost({ stateFolder: join(base, "state") });
  const stat = host.files.stat(path);
  if (!stat) throw new Error("no file");
  expect(Buffer.from(host.files.readFile(path, stat)).toString()).toBe("mine");
  rmSync(path);
  writeFileSync(path, "root", { mode: 0o600 });
  const refusal = expect.objectContaining({ details: expect.objectContaining({ errno: "ESTALE" }) });
  expect(() => host.files.readFile(path, stat)).toThrow(refusal);
  expect(() => host.backups.save(path, { expected: stat })).toThrow(refusal);
  expect(readdirSync(join(base, "state/backups"))).toEqual([]);
});
