/** Each line that dnf, pacman, apk and brew get, with what they answer, and what is made of it. */
import { describe, expect, test } from "vitest";
import { apkProvider as apk } from "../../../../lib/state/resources/package/apk.ts";
import { brewProvider as brew } from "../../../../lib/state/resources/package/brew.ts";
import { dnfProvider as dnf } from "../../../../lib/state/resources/package/dnf.ts";
import { pacmanProvider as pacman } from "../../../../lib/state/resources/package/pacman.ts";
import type { PackageMachine } from "../../../../lib/state/resources/package/provider.ts";
import { type Answers, answering, placeFile } from "../../../support/machine/answering.ts";

type Call = (machine: PackageMachine) => Promise<unknown>;

const dnfPath = "/usr/bin/dnf";
const rpmQuery = "rpm -q --qf %{NAME}\\t%{ARCH}\\t%{EPOCHNUM}:%{VERSION}-%{RELEASE}\\n --";
const pacmanPath = "/usr/bin/pacman";
const request = (name: string, version?: string) => ({ name, version, installed: false });
const there = (version: string, held = false) => ({ version, held, leftovers: false });
const absent = { version: null, held: false, leftovers: false };

/** The table of dnf over what it would do. */
const table = (...lines: string[]): { exitCode: number; stdout: string } => ({
  exitCode: 1,
  stdout: ["Dependencies resolved.", "=====", ...lines, "", "Transaction Summary", "====="].join("\n"),
});
const removal = table(
  "Removing:",
  " web     noarch  1.0-1  @test  6 k",
  "Removing dependent packages:",
  " site    noarch  1.0-1  @test  6 k",
  "Removing unused dependencies:",
  " lib     noarch  1.0-1  @test  6 k",
);
const installation = table(
  "Installing:",
  " web     noarch  1.0-1  test  6 k",
  "     replacing  apache.noarch 2.4-1",
  "     replacing  own.noarch 1.0-1",
  "Downgrading:",
  " lib     noarch  0:1.0-1  test  6 k",
  " own     noarch  1.0-1  test  6 k",
);

const questions: [string, Answers, string, Call, unknown][] = [
  [
    "dnf: what is there, and what is not",
    {
      [`${rpmQuery} a b`]: {
        exitCode: 2,
        stdout: "package a is not installed\npackage b is not installed\n",
      },
    },
    dnfPath,
    (machine) => dnf.query(["a", "b"], machine),
    [absent, absent],
  ],
  [
    "dnf: who would go, and who takes nothing of its own along",
    {
      [`${dnfPath} --assumeno -C install -- web own`]: installation,
      [`${rpmQuery} lib`]: "lib\tnoarch\t0:1.1-1\n",
    },
    dnfPath,
    (machine) => dnf.foretellInstall!([request("web"), request("own")], machine),
    { removes: ["apache"], downgrades: [{ name: "lib", before: "1.1-1", after: "1.0-1" }] },
  ],
  [
    "dnf: nothing, of a version that its cache does not know",
    { [`${dnfPath} --assumeno -C install -- web-2.0-1`]: { exitCode: 1 } },
    dnfPath,
    (machine) => dnf.foretellInstall!([request("web", "2.0-1")], machine),
    { removes: [], downgrades: [] },
  ],
  [
    "dnf: no refusal where it was told no at its table",
    { [`${dnfPath} --assumeno -C install -- web own`]: installation },
    dnfPath,
    (machine) => dnf.rehearseInstall!([request("web"), request("own")], machine),
    null,
  ],
  [
    "dnf: no refusal of what is there",
    { [`${dnfPath} --assumeno -C install -- web`]: "Nothing to do.\n" },
    dnfPath,
    (machine) => dnf.rehearseInstall!([request("web")], machine),
    null,
  ],
  [
    "dnf: why it would refuse",
    {
      [`${dnfPath} --assumeno -C install -- none`]: {
        exitCode: 1,
        stderr: "Error: Unable to find a match: none\n",
      },
    },
    dnfPath,
    (machine) => dnf.rehearseInstall!([request("none")], machine),
    expect.objectContaining({
      code: "COMMAND_FAILED",
      message: `${dnfPath} exited with 1: Error: Unable to find a match: none`,
    }),
  ],
  [
    "dnf: who else would go",
    { [`${dnfPath} --assumeno remove -- web`]: removal },
    dnfPath,
    (machine) => dnf.foretellRemoval!(["web"], machine),
    ["site", "lib"],
  ],
  [
    "dnf: whom nobody would need any more",
    { [`${dnfPath} --assumeno remove -- web`]: removal },
    dnfPath,
    (machine) => dnf.unused!(["web"], machine),
    ["lib"],
  ],
  [
    "dnf: all that is there, but no keys",
    { "rpm -qa --qf %{NAME}\\n": "web\ngpg-pubkey\nlib\n" },
    dnfPath,
    (machine) => dnf.installedNames!(machine),
    ["web", "lib"],
  ],
  [
    "dnf: who is there for others",
    { [`${dnfPath} -q repoquery --userinstalled --queryformat %{name}\n -- web lib`]: "web\n" },
    dnfPath,
    (machine) => dnf.dependencies!(["web", "lib"], machine),
    ["lib"],
  ],
  [
    "pacman: what is there, and what is not",
    { [`${pacmanPath} -Q -- a b`]: { exitCode: 1, stdout: "b 1.0-1\n" } },
    pacmanPath,
    (machine) => pacman.query(["a", "b"], machine),
    [absent, there("1.0-1")],
  ],
  [
    "pacman: nothing where nothing is there",
    { [`${pacmanPath} -Qq`]: { exitCode: 1 } },
    pacmanPath,
    (machine) => pacman.installedNames!(machine),
    [],
  ],
  [
    "pacman: all that is there",
    { [`${pacmanPath} -Qq`]: "a\nb\n" },
    pacmanPath,
    (machine) => pacman.installedNames!(machine),
    ["a", "b"],
  ],
  [
    "pacman: whom nobody would need any more",
    { [`${pacmanPath} -Rs --print --print-format %n -- web`]: ":: a word\nweb\nlib+1\n" },
    pacmanPath,
    (machine) => pacman.unused!(["web"], machine),
    ["lib+1"],
  ],
  [
    "pacman: nobody, where the removal would fail",
    {
      [`${pacmanPath} -Rs --print --print-format %n -- web`]: {
        exitCode: 1,
        stdout: ":: removing web breaks dependency 'web' required by site\n",
      },
    },
    pacmanPath,
    (machine) => pacman.unused!(["web"], machine),
    [],
  ],
  [
    "pacman: who is there for others",
    { [`${pacmanPath} -Qqd -- web lib`]: { exitCode: 1, stdout: "lib\n" } },
    pacmanPath,
    (machine) => pacman.dependencies!(["web", "lib"], machine),
    ["lib"],
  ],
  [
    "brew: the newest versions, and none",
    {
      "/brew info --json=v2 -- firefox none": JSON.stringify({
        formulae: [],
        casks: [{ token: "firefox", full_token: "tap/firefox", version: "2", installed: "1" }],
      }),
    },
    "/brew",
    (machine) => brew.candidates(["firefox", "none"], machine),
    ["2", null],
  ],
];

test.each(questions)("is told by the answers of %s", async (_what, answers, path, call, expected) => {
  const { machine, ran, lines } = answering(path, answers);
  expect(await call(machine)).toEqual(expected);
  expect(lines()).toEqual(Object.keys(answers));
  expect(ran.filter(({ asks }) => asks !== true)).toEqual([]);
  for (const { argv, environment } of ran)
    if (argv.includes("--assumeno")) expect(environment).toMatchObject({ COLUMNS: "500", LC_ALL: "C" });
});

test.each(questions)("fails where its program can't answer: %s", async (_what, answers, path, call) => {
  const failing = Object.fromEntries(Object.keys(answers).map((line) => [line, { exitCode: 50 }]));
  await expect(call(answering(path, failing).machine)).rejects.toMatchObject({
    code: "COMMAND_FAILED",
    details: { exit_code: 50 },
  });
});

test.each<[string, string[], string, Call]>([
  [
    "dnf: the very package, though another says that it replaces it",
    [`${dnfPath} -y --setopt=obsoletes=False install -- web`],
    dnfPath,
    (machine) => dnf.install([request("web")], machine, { mayRemove: false, exact: true }),
  ],
  [
    "dnf: the mark of dnf 4",
    [`${dnfPath} -q -y mark remove -- lib`],
    dnfPath,
    (machine) => dnf.markDependencies!(["lib"], machine),
  ],
  [
    "dnf: the mark of dnf 5",
    ["/usr/bin/dnf5 -q -y mark dependency -- lib"],
    "/usr/bin/dnf5",
    (machine) => dnf.markDependencies!(["lib"], machine),
  ],
  [
    "dnf: the end of a hold",
    [`${dnfPath} -q -y versionlock delete -- web`],
    dnfPath,
    (machine) => dnf.setHeld!(["web"], false, machine),
  ],
  [
    "apk: a removal that keeps the configuration",
    ["/sbin/apk --wait 300 del -- web"],
    "/sbin/apk",
    (machine) => apk.remove(["web"], { purge: false, alone: true }, machine),
  ],
  [
    "brew: a removal",
    ["/brew uninstall -- web"],
    "/brew",
    (machine) => brew.remove(["web"], { purge: false, alone: true }, machine),
  ],
  [
    "brew: one with all that it left",
    ["/brew uninstall --zap -- web"],
    "/brew",
    (machine) => brew.remove(["web"], { purge: true, alone: true }, machine),
  ],
  ["brew: a hold", ["/brew pin -- web"], "/brew", (machine) => brew.setHeld!(["web"], true, machine)],
])("does by its lines: %s", async (_what, expected, path, call) => {
  const { machine, ran, lines } = answering(path, Object.fromEntries(expected.map((line) => [line, ""])));
  await call(machine);
  expect(lines()).toEqual(expected);
  expect(ran.every(({ asks }) => asks !== true)).toBe(true);
  if (path === "/brew")
    expect(ran[0]?.environment).toMatchObject({ HOMEBREW_NO_AUTO_UPDATE: "1", NONINTERACTIVE: "1" });
});

describe("the locks of dnf", () => {
  const list = `${dnfPath} -q versionlock list`;

  test.each(["/etc/dnf/plugins/versionlock.list", "/etc/dnf/versionlock.toml"])(
    "are those in %s",
    async (path) => {
      const answers = {
        [`${rpmQuery} web lib`]: "web\tnoarch\t0:1.0-1\nlib\tnoarch\t0:1.0-1\n",
        [list]: "lib-0:1.0-1.*\n",
      };
      const { machine } = answering(dnfPath, answers);
      placeFile(machine.host, path);
      expect(await dnf.query(["web", "lib"], machine)).toEqual([there("1.0-1"), there("1.0-1", true)]);
    },
  );

  test("are not asked for where none of the packages is there", async () => {
    const { machine, lines } = answering(dnfPath, { [`${rpmQuery} web`]: { exitCode: 1 } });
    placeFile(machine.host, "/etc/dnf/versionlock.toml");
    expect(await dnf.query(["web"], machine)).toEqual([absent]);
    expect(lines()).toHaveLength(1);
  });
});
