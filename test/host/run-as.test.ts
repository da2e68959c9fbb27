/** What a program of another user is started with, by the agent that is root. */
import { existsSync } from "node:fs";
import { expect, test } from "vitest";
import { accountEnvironment, requireStarted, startAs } from "../../lib/host/run-as.ts";

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
