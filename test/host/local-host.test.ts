import { execFileSync } from "node:child_process";
import {
  existsSync,
  linkSync,
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
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { systemClock } from "../../lib/clock.ts";
import { LocalHost } from "../../lib/host/local-host.ts";
import { processAt } from "../../lib/host/process-table.ts";
import { act } from "../../lib/state/resources/shared/command.ts";
import { hostConformance } from "../../lib/testing/host-conformance.ts";
import type { HostUnderTest } from "../../lib/testing/host-subject.ts";
import { type FileServer, serveFiles } from "../support/file-server.ts";

let base: string;
let server: FileServer;
beforeAll(async () => void (server = await serveFiles()));
afterAll(() => server.stop());
const urls = () => ({
  hello: `${server.url}/redirect`,
  none: `${server.url}/none`,
  endless: `${server.url}/endless`,
});
const never = new AbortController().signal;

beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), "fleetwright-host-"));
  for (const name of ["root", "outside", "work"]) mkdirSync(join(base, name));
  writeFileSync(join(base, "outside/file"), "secret");
});
afterEach(() => rmSync(base, { recursive: true }));

const programs = {
  echo: ["/bin/cat"],
  fail: ["/bin/sh", "-c", "exit 3"],
  wait: ["/bin/sleep", "300"],
} as const;

/** A child that ignores SIGTERM, one in a session of its own, and one of that one; each notes its number. */
const parent = `
  (trap "" TERM; sleep 300) & echo $! >> "$1"
  setsid sh -c 'sleep 300 & echo $! >> "$1"; echo $$ >> "$1"; wait' sh "$1" &
  wait
  sleep 300`;

function familyIn(folder: string): NonNullable<HostUnderTest["family"]> {
  const noted = join(folder, "family");
  return {
    argv: ["/bin/sh", "-c", parent, "sh", noted],
    size: 3,
    running: () =>
      existsSync(noted)
        ? readFileSync(noted, "utf8").split("\n").filter(Boolean).filter(isRunning).length
        : 0,
  };
}

/** What was ended stays as a zombie until whoever adopted it has taken note. */
function isRunning(pid: string): boolean {
  try {
    return !/^State:\s*Z/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return false;
  }
}

describe("a host that is confined to a root folder", () => {
  // Names that begin as the root's does, or with which it begins, are none of its.
  test.each(["roo", "rootx", "root-2", "root.d", "Root", "root ", "outside"])(
    "is led to no folder %j beside it, whichever way a link is written",
    (name) => {
      const beside = join(base, name);
      mkdirSync(beside, { recursive: true });
      writeFileSync(join(beside, "file"), "theirs");
      const { files } = new LocalHost({ stateFolder: join(base, "state"), root: join(base, "root") });
      const refused = expect.objectContaining({ code: "PATH_OUTSIDE_ROOT" }) as unknown;
      files.makeDirectory("/in", {});
      for (const [at, target] of [
        ["a", beside],
        ["b", `../${name}`],
        ["in/c", `../../${name}`],
        ["d", `in/../../${name}`],
        ["e", `/../../../../../..${beside}`],
      ] as const) {
        files.makeSymlink(`/${at}`, target);
        for (const act of [
          () => files.stat(`/${at}/file`),
          () => files.readFile(`/${at}/file`),
          () => files.list(`/${at}/file`),
          () => files.writeFile(`/${at}/file`, Buffer.from("ours"), {}),
          () => files.makeDirectory(`/${at}/new`, {}),
          () => files.removeFile(`/${at}/file`),
        ])
          expect(act, `${at} -> ${target}`).toThrow(refused);
      }
      expect(readFileSync(join(beside, "file"), "utf8")).toBe("theirs");
      expect(readdirSync(beside)).toEqual(["file"]);
    },
  );
});

describe("a root folder that can't be used", () => {
  test.each([
    ["nothing", "none", "missing"],
    ["a file", "outside/file", "a part of the path is not a folder"],
    ["a path below a file", "outside/file/below", "a part of the path is not a folder"],
  ])("is refused by name and reason: %s", (_what, path, why) => {
    const root = join(base, path);
    expect(() => new LocalHost({ stateFolder: join(base, "state"), root })).toThrow(
      expect.objectContaining({
        code: "CONFIGURATION_INVALID",
        message: `The root folder ${root} can't be used: ${why}.`,
        details: { root },
      }),
    );
  });
});

const isRoot = process.getuid?.() === 0;
if (!isRoot) console.warn("Skipped: what folders of other users lead to: only root can give a folder away.");

const setImmutable = (path: string, is: boolean): void =>
  void execFileSync("chattr", [is ? "+i" : "-i", path], { stdio: "pipe" });

/** Only root on a file system with flags may hold a file. */
const canHold = ((): boolean => {
  const probe = mkdtempSync(join(tmpdir(), "fleetwright-hold-"));
  try {
    setImmutable(probe, true);
    setImmutable(probe, false);
    return true;
  } catch (error) {
    console.warn(`Skipped: files that may not be changed: ${String(error)}`);
    return false;
  } finally {
    rmSync(probe, { recursive: true });
  }
})();

describe("the whole machine", () => {
  const create = () => ({
    host: new LocalHost({ stateFolder: join(base, "state") }),
    folder: join(base, "work"),
    programs,
    family: familyIn(base),
    urls: urls(),
    hardLink: linkSync,
    setImmutable,
  });
  for (const { name, needs, run } of hostConformance(create)) {
    const isLeft = needs === "root" || (needs === "owners" && !isRoot);
    test.skipIf(isLeft || (needs === "held" && !canHold))(name, run);
  }
});

describe("confined to a folder", () => {
  const create = () => {
    mkdirSync(join(base, "root/work"));
    return {
      host: new LocalHost({ stateFolder: join(base, "state"), root: join(base, "root") }),
      folder: "/work",
      programs,
      family: familyIn(base),
      urls: urls(),
      outside: { target: join(base, "outside") },
      hardLink: (path: string, name: string) => linkSync(join(base, "root", path), join(base, "root", name)),
      setImmutable: (path: string, is: boolean) => setImmutable(join(base, "root", path), is),
    };
  };
  for (const { name, needs, run } of hostConformance(create)) {
    test.skipIf((needs === "owners" && !isRoot) || (needs === "held" && !canHold))(name, run);
  }
});

describe("programs", () => {
  const host = (): LocalHost => new LocalHost({ stateFolder: join(base, "state") });

  test("get nothing of the agent's environment but what is given", async () => {
    const { stdout } = await host().run({ argv: ["/usr/bin/env"], environment: { A: "1" } }, never);
    const names = stdout
      .trim()
      .split("\n")
      .map((line) => line.split("=")[0]);
    expect(names.sort()).toEqual(["A", "HOME", "LANG", "PATH"]);
  });

  test("are ended with everything that they started when the time is over", async () => {
    const script = 'sleep 300 & echo $! > "$1"; trap "" TERM; wait; wait; sleep 300';
    const argv = ["/bin/sh", "-c", script, "sh", join(base, "pid")] as const;
    // Time stands still until the program is up; then the limit and the grace pass at once.
    const timers: (() => void)[] = [];
    const clock = {
      ...systemClock,
      setTimer: (_ms: number, fire: () => void) => (timers.push(fire), { cancel() {} }),
    };
    const running = new LocalHost({ stateFolder: join(base, "state"), clock }).run(
      { argv, timeoutMs: 1000 },
      never,
    );
    const child = await untilWritten(join(base, "pid"));
    for (let next = timers.shift(); next; next = timers.shift()) next();
    expect(await running).toMatchObject({ exitCode: null, timedOut: true });
    await untilEnded(child);
  });

  test("may write more than is kept without being held up", async () => {
    const argv = ["/bin/sh", "-c", "head -c 1000000 /dev/zero; echo end >&2"] as const;
    const result = await host().run({ argv }, never);
    expect(result.stdout.length).toBe(262_144);
    expect(result).toMatchObject({
      exitCode: 0,
      stderr: "end\n",
      truncated: { stdout: true, stderr: false },
    });
  });

  test("are quoted with what they said last, however much they wrote before", async () => {
    const script = "yes 'warning: é' | head -c 400000 >&2; echo >&2; echo 'fatal: no space left' >&2; exit 3";
    const machine = { host: host(), signal: never };
    const failing = act({ argv: ["/bin/sh", "-c", script] }, machine);
    await expect(failing).rejects.toThrow(/^\/bin\/sh exited with 3: .*fatal: no space left$/);
    const { stderr, truncated } = await machine.host.run({ argv: ["/bin/sh", "-c", script] }, never);
    expect(truncated).toEqual({ stdout: false, stderr: true });
    expect(Buffer.byteLength(stderr)).toBeGreaterThan(262_140);
    expect(Buffer.byteLength(stderr)).toBeLessThanOrEqual(262_144);
    expect(stderr).not.toContain("\ufffd");
  });

  test("are kept longer output of where the command says so", async () => {
    const argv = ["/bin/sh", "-c", "head -c 1000000 /dev/zero"] as const;
    const result = await host().run({ argv, maxOutputBytes: 900_000 }, never);
    expect(result.stdout.length).toBe(900_000);
    expect(result.truncated).toEqual({ stdout: true, stderr: false });
  });

  test("may leave a daemon behind that holds their output", async () => {
    const result = await host().run({ argv: ["/bin/sh", "-c", "sleep 300 & echo $!"] }, never);
    expect(result.exitCode).toBe(0);
    process.kill(Number(result.stdout), "SIGKILL");
  });

  test("that read nothing do not break the agent", async () => {
    const result = await host().run({ argv: ["/bin/true"], stdin: "x".repeat(1_000_000) }, never);
    expect(result.exitCode).toBe(0);
  });

  test("begin in the root folder of a confined host", async () => {
    const confined = new LocalHost({ stateFolder: join(base, "state"), root: join(base, "root") });
    const { stdout } = await confined.run({ argv: ["/bin/pwd"] }, never);
    expect(stdout.trim()).toBe(join(base, "root"));
  });

  test.runIf(process.getuid?.() === 0)("run as another user with none of the agent's groups", async () => {
    const { stdout } = await host().run({ argv: ["/usr/bin/id"], user: "nobody" }, never);
    expect(stdout).toMatch(/^uid=\d+\(nobody\)/);
    expect(stdout).not.toContain("root");
  });

  test("can't run as a user that does not exist", async () => {
    await expect(host().run({ argv: ["/bin/true"], user: "no-such-user" }, never)).rejects.toMatchObject({
      code: "HOST_ERROR",
    });
  });
});

test("backups are readable by the agent's user alone", async () => {
  const host = new LocalHost({ stateFolder: join(base, "state") });
  writeFileSync(join(base, "work/file"), "secret", { mode: 0o644 });
  const { sha256 } = await host.backups.save(join(base, "work/file"));
  expect(statSync(join(base, "state/backups")).mode & 0o777).toBe(0o700);
  expect(statSync(join(base, "state/backups", sha256)).mode & 0o777).toBe(0o600);
});

test("a write that fails leaves no temporary file", () => {
  const host = new LocalHost({ stateFolder: join(base, "state") });
  expect(() => host.files.writeFile(join(base, "work/file"), Buffer.from("x"), { uid: -5 })).toThrow(
    `out of range: ${join(base, "work/file")}`,
  );
  expect(readdirSync(join(base, "work"))).toEqual([]);
});

test("users and groups are those of the system", () => {
  const { users } = new LocalHost({ stateFolder: join(base, "state") });
  expect([users.userId("root"), users.userName(0), users.groupId("root"), users.groupName(0)]).toEqual([
    0,
    "root",
    0,
    "root",
  ]);
  expect([users.userId("no-such-user"), users.groupName(987_654)]).toEqual([null, null]);
});

async function untilWritten(path: string): Promise<number> {
  for (;;) {
    const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
    if (size > 0) return Number(readFileSync(path, "utf8"));
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** A process that was ended stays as a zombie until whoever adopted it has taken note. */
async function untilEnded(pid: number): Promise<void> {
  for (;;) {
    if (processAt(pid)?.isZombie !== false) return;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

test("where copies can't be kept the error names their folder, not the file", () => {
  const stateFolder = join(base, "state");
  mkdirSync(stateFolder);
  writeFileSync(join(stateFolder, "backups"), "in the way");
  const host = new LocalHost({ stateFolder });
  const path = join(base, "outside/file");
  expect(() => host.backups.save(path)).toThrow(
    expect.objectContaining({
      code: "HOST_ERROR",
      message: `exists already: ${join(stateFolder, "backups")}`,
    }),
  );
  expect(() => host.backups.save(join(base, "none"))).toThrow(
    expect.objectContaining({ code: "HOST_ERROR" }),
  );
});
