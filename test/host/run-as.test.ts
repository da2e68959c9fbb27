/** What a program of another user is started with, by the agent that is root. */
import fs, { existsSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { accountEnvironment, requireStarted, startAs } from "../../lib/host/run-as.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const account = { name: "web", uid: 33, gid: 33, home: "/srv/web", shell: "" };
const isRoot =
  process.getuid?.() === 0 && ["/usr/bin/setpriv", "/bin/setpriv"].some((path) => existsSync(path));
if (!isRoot) console.warn("Skipped: programs of another user: this is not root, or there is no setpriv.");

// Those that ld.so(8) takes away from what runs with another's rights: setpriv has those of root until it gives them up.
const obeyed = [
  "GCONV_PATH",
  "GETCONF_DIR",
  "GLIBC_TUNABLES",
  "HOSTALIASES",
  "LD_AUDIT",
  "LD_DEBUG",
  "LD_LIBRARY_PATH",
  "LD_PRELOAD",
  "LOCALDOMAIN",
  "LOCPATH",
  "MALLOC_TRACE",
  "NIS_PATH",
  "NLSPATH",
  "RESOLV_HOST_CONF",
  "RES_OPTIONS",
  "TZDIR",
];

test.runIf(isRoot).each(obeyed)("%s is for the program alone, not for what is root before it", (name) => {
  const env = { PATH: "/usr/bin:/bin", [name]: "/evil", [`X${name}`]: "mine", MINE: "kept" };
  const started = startAs(account, { argv: ["/bin/sh", "-c", "true"], env, ids: {} }, "/");
  expect(started.env).not.toHaveProperty(name);
  expect(started.env).toMatchObject({ MINE: "kept", [`X${name}`]: "mine" });
  const [later] = Object.entries(started.env).filter(([, value]) => value === "/evil");
  const script = started.argv[started.argv.indexOf("-c") + 1];
  expect(script).toBe(`export ${name}="$${later![0]}"; unset ${later![0]}; exec "$@"`);
  expect(started.argv.slice(-3)).toEqual(["/bin/sh", "-c", "true"]);
  for (const word of ["--reuid=33", "--regid=33", "--init-groups", "--inh-caps=-all"])
    expect(started.argv).toContain(word);
});

test.runIf(isRoot).each<[what: string, program: string, path: string | undefined, isThere: boolean]>([
  ["in the second folder of the search path", "tool", "/%/empty:/%/bin", true],
  ["in the first", "tool", "/%/bin:/%/empty", true],
  ["in none of it", "tool", "/%/empty", false],
  ["where the search path is not set", "tool", undefined, false],
  ["where the program works, which an empty part of the search path stands for", "here", "/%/bin:", true],
  ["where the program works, which a dot stands for", "here", ".", true],
  ["where the program works, which the search path says nothing of", "here", "/%/bin", false],
  ["by a folder of the search path below where it works", "tool", "../bin", true],
  ["by a path of its own", "/%/bin/tool", "", true],
  ["by a path from where it works", "../bin/tool", "/%/empty", true],
  ["by a name that is searched nowhere", "bin/tool", "/%", false],
  ["by a link to it", "/%/bin/link", "", true],
  ["a folder", "/%/bin", "", false],
  ["a folder of the search path", "empty", "/%", false],
  ["nothing", "/%/bin/none", "", false],
  ["a path below a file", "/%/bin/tool/x", "", false],
  ["a link that leads to itself", "/%/bin/loop", "", false],
  ["behind a file in the search path", "tool", "/%/bin/tool:/%/bin/loop:/%/bin", true],
])("a program is looked for before it is started as somebody: %s", (_what, program, path, isThere) => {
  const folder = temporaryFolder();
  for (const name of ["bin", "empty", "work"]) mkdirSync(join(folder, name));
  for (const name of ["bin/tool", "work/here"])
    writeFileSync(join(folder, name), "#!/bin/sh\n", { mode: 0o755 });
  symlinkSync("tool", join(folder, "bin/link"));
  symlinkSync("loop", join(folder, "bin/loop"));
  const at = (text: string): string => text.replaceAll("/%", folder);
  const env: Record<string, string> = path === undefined ? {} : { PATH: at(path) };
  const start = (): unknown => startAs(account, { argv: [at(program)], env, ids: {} }, join(folder, "work"));
  if (isThere) return expect(start).not.toThrow();
  expect(start).toThrow(
    expect.objectContaining({ code: "HOST_ERROR", details: { path: at(program), errno: "ENOENT" } }),
  );
});

test.runIf(isRoot)("a name that no file can have is refused as what it is", () => {
  const program = `/${"x".repeat(300)}`;
  expect(() => startAs(account, { argv: [program], env: {}, ids: {} }, "/")).toThrow(
    expect.objectContaining({ code: "HOST_ERROR", details: { path: program, errno: "ENAMETOOLONG" } }),
  );
});

test.runIf(isRoot)("where root itself may not look, the user's own rights decide", () => {
  const { statSync } = fs;
  onTestFinished(() => {
    Object.assign(fs, { statSync });
    syncBuiltinESMExports();
  });
  const look = (path: fs.PathLike, ...more: []): unknown => {
    if (String(path).startsWith("/shared/")) throw Object.assign(new Error("no"), { code: "EACCES" });
    return statSync(path, ...more);
  };
  Object.assign(fs, { statSync: look });
  syncBuiltinESMExports();
  const start = (program: string): unknown => startAs(account, { argv: [program], env: {}, ids: {} }, "/");
  expect(() => start("/shared/tool")).not.toThrow();
  expect(() => start("/elsewhere/tool")).toThrow(expect.objectContaining({ code: "HOST_ERROR" }));
});

test("a user without a shell has that of the system, as su(1) says it", () => {
  expect(accountEnvironment(account)).toEqual({
    HOME: "/srv/web",
    USER: "web",
    LOGNAME: "web",
    SHELL: "/bin/sh",
  });
  expect(accountEnvironment({ ...account, shell: "/bin/false" })).toMatchObject({ SHELL: "/bin/false" });
});

test.each<[exitCode: number | null, stderr: string, truncated: boolean, isRefused: boolean]>([
  [126, "fleetwright-start: 1: exec: /x: Permission denied\n", false, true],
  [127, "fleetwright-start: 1: exec: /x: not found\n", false, true],
  [1, "fleetwright-start: 1: exec: /x: not found\n", false, false],
  [null, "fleetwright-start: 1: exec: /x: not found\n", false, false],
  [127, "sh: 1: x: not found\n", false, false],
  [126, "it says: fleetwright-start: \n", false, false],
  [126, "fleetwright-start: what came last\n", true, false],
])(
  "a program that ended with %j and said %j was not started: cut %j, %j",
  (exitCode, stderr, cut, isRefused) => {
    const result = { exitCode, signal: null, timedOut: false, stdout: "", stderr };
    const require = (): void =>
      requireStarted(["/x"], { ...result, truncated: { stdout: false, stderr: cut } });
    if (!isRefused) return expect(require).not.toThrow();
    expect(require).toThrow(
      expect.objectContaining({ code: "HOST_ERROR", details: { path: "/x", errno: "EACCES" } }),
    );
  },
);
