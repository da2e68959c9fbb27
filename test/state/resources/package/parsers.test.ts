/**
 * What the package managers print: apt, dpkg, dnf 4 with rpm, and pacman as recorded on Debian 12; dnf 5, apk and brew as their
 * manuals describe it: they were not run.
 */
import { describe, expect, test } from "vitest";
import { parseApkList } from "../../../../lib/state/resources/package/apk.ts";
import {
  parseAptPolicy,
  parseAptVersioned,
  parseDpkgQuery,
  parseSimulatedInstall,
  parseSimulatedRemoval,
} from "../../../../lib/state/resources/package/apt.ts";
import { parseBrewInfo } from "../../../../lib/state/resources/package/brew.ts";
import {
  parseDnfInstall,
  parseRpmQuery,
  parseVersionLocks,
} from "../../../../lib/state/resources/package/dnf.ts";
import {
  parseDependents,
  parsePacmanInfo,
  parsePacmanQuery,
} from "../../../../lib/state/resources/package/pacman.ts";
import { matchesVersion } from "../../../../lib/state/resources/package/wanted.ts";

describe("apt", () => {
  test("dpkg-query: installed, held, left with its configuration, in the middle of it, in two architectures", () => {
    const found = parseDpkgQuery(
      [
        "bash\tamd64\tinstall\tinstalled\t5.2.15-2+b8",
        "libc6\tamd64\tinstall\tinstalled\t2.36-9+deb12u10",
        "libc6\ti386\tdeinstall\tconfig-files\t2.36-9",
        "nginx\tall\thold\tinstalled\t1.22.1-9",
        "ftp\tall\tdeinstall\tconfig-files\t20210827-4",
        "mysql\tamd64\tinstall\thalf-configured\t8.0",
        "man-db\tamd64\tinstall\ttriggers-pending\t2.11.2-2",
        "telnetd\tamd64\tunknown\tnot-installed\t",
        "",
      ].join("\n"),
    );
    expect(found.get("bash")).toEqual({ version: "5.2.15-2+b8", held: false, leftovers: false });
    expect(found.get("libc6")?.version).toBe("2.36-9+deb12u10");
    expect(found.get("libc6:i386")).toEqual({ version: null, held: false, leftovers: true });
    expect(found.get("nginx")?.held).toBe(true);
    expect(found.get("ftp")).toEqual({ version: null, held: false, leftovers: true });
    expect(found.get("mysql")?.version).toBeNull();
    expect(found.get("man-db")?.version).toBe("2.11.2-2");
    expect(found.get("telnetd")).toEqual({ version: null, held: false, leftovers: false });
  });

  test("apt-cache policy: the candidate, none, and one that is not known", () => {
    const stdout = `cron:
  Installed: (none)
  Candidate: 3.0pl1-162
  Version table:
     3.0pl1-162 500
        500 http://deb.debian.org/debian bookworm/main amd64 Packages
dpkg:
  Installed: 1.21.22
  Candidate: 1.21.23
  Version table:
     1.21.23 500
        500 http://deb.debian.org/debian bookworm/main amd64 Packages
 *** 1.21.22 100
        100 /var/lib/dpkg/status
mail-transport-agent:
  Installed: (none)
  Candidate: (none)
  Version table:
`;
    expect([...parseAptPolicy(stdout)]).toEqual([
      ["cron", "3.0pl1-162"],
      ["dpkg", "1.21.23"],
    ]);
  });

  test("apt-cache policy: a name with versions is that of a package, a virtual one has none", () => {
    const stdout = `jq:
  Installed: 1.6-2.1
  Candidate: 1.6-2.1
  Version table:
 *** 1.6-2.1 100
        100 /var/lib/dpkg/status
sl:
  Installed: (none)
  Candidate: (none)
  Version table:
     5.02-1+b1 -1
        500 http://deb.debian.org/debian bookworm/main amd64 Packages
awk:
  Installed: (none)
  Candidate: (none)
  Version table:
`;
    expect([...parseAptVersioned(stdout)]).toEqual(["jq", "sl"]);
  });

  test("apt-get -s remove: everything that would go", () => {
    const stdout = `NOTE: This is only a simulation!
      apt-get needs root privileges for real execution.
Reading package lists...
Building dependency tree...
The following packages will be REMOVED:
  libgcc-12-dev (12.2.0-14+deb12u1)
0 upgraded, 0 newly installed, 2 to remove and 0 not upgraded.
Remv g++ [4:12.2.0-3]
Remv libgcc-12-dev [12.2.0-14+deb12u1] [libstdc++-12-dev:amd64 gcc-12:amd64 ]
`;
    expect(parseSimulatedRemoval(stdout)).toEqual(["g++", "libgcc-12-dev"]);
  });
});

describe("dnf", () => {
  test("rpm -q: versions, with an epoch that is not 0, and what is not there", () => {
    const stdout = `bash\tx86_64\t0:5.1.8-9.el9
package nginx is not installed
vim-enhanced\tx86_64\t2:8.2.2637-20.el9_1
`;
    expect([...parseRpmQuery(stdout)]).toEqual([
      ["bash", "5.1.8-9.el9"],
      ["bash.x86_64", "5.1.8-9.el9"],
      ["vim-enhanced", "2:8.2.2637-20.el9_1"],
      ["vim-enhanced.x86_64", "2:8.2.2637-20.el9_1"],
    ]);
  });

  test("repoquery puts an empty line after each", () => {
    expect([...parseRpmQuery("one\tnoarch\t0:1.1-1\n\ntwo\tnoarch\t2:1.0-1\n\n").keys()]).toEqual([
      "one",
      "one.noarch",
      "two",
      "two.noarch",
    ]);
  });

  test("versionlock list, of dnf 4 and of dnf 5", () => {
    expect([...parseVersionLocks("one-0:1.0-1.*\none-0:1.1-1.*\n")]).toEqual(["one"]);
    expect([...parseVersionLocks("vim-enhanced-2:8.2.2637-20.el9_1.*\n!bash-0:5.1.8-9.el9.*\n")]).toEqual([
      "vim-enhanced",
    ]);
    const five = `# Added by 'versionlock add' command on 2024-05-06 11:02:14
Package name: nginx-core
evr = 1:1.26.0-1.fc40
`;
    expect([...parseVersionLocks(five)]).toEqual(["nginx-core"]);
    const excluded = `# Added by 'versionlock exclude' command on 2024-05-06 11:02:14
Package name: iftop
evr != 1.2.3-7.fc40

`;
    expect([...parseVersionLocks(excluded + five)]).toEqual(["nginx-core"]);
    expect([...parseVersionLocks(five + excluded)]).toEqual(["nginx-core"]);
    const range = "Package name: kernel\nevr >= 6.8\nevr < 6.9\n";
    expect([...parseVersionLocks(excluded + range)]).toEqual(["kernel"]);
  });
});

test("apk info -v and apk search: names with dashes and digits", () => {
  const stdout = `WARNING: opening from cache https://dl-cdn.alpinelinux.org/alpine/v3.19/main: No such file or directory
musl-1.2.4_git20230717-r4
ca-certificates-bundle-20240226-r0
ssl_client-1.36.1-r15
py3-six-1.16.0-r8
libstdc++-13.2.1_git20231014-r0
`;
  expect([...parseApkList(stdout)]).toEqual([
    ["musl", "1.2.4_git20230717-r4"],
    ["ca-certificates-bundle", "20240226-r0"],
    ["ssl_client", "1.36.1-r15"],
    ["py3-six", "1.16.0-r8"],
    ["libstdc++", "13.2.1_git20231014-r0"],
  ]);
});

test("pacman -Q and -Si: the first repository that has it", () => {
  const warned = "warning: database file is old\nerror: package 'vim' was not found\n";
  expect([...parsePacmanQuery(`${warned}bash 5.2.026-2\nca-certificates 20240203-1\n`)]).toEqual([
    ["bash", "5.2.026-2"],
    ["ca-certificates", "20240203-1"],
  ]);
  const info = `Repository      : core
Name            : bash
Version         : 5.2.026-2
Description     : t
Architecture    : any
URL             : None
Provides        : None
Depends On      : one
Download Size   : 313.00 B
Validated By    : MD5 Sum  SHA-256 Sum

Repository      : testing
Name            : bash
Version         : 5.2.032-1

`;
  expect([...parsePacmanInfo(info)]).toEqual([["bash", "5.2.026-2"]]);
});

test("pacman -R: who needs what it does not remove", () => {
  const stdout = `checking dependencies...
:: removing one breaks dependency 'one' required by two
:: removing one breaks dependency 'one>=1' required by two
`;
  expect([parseDependents(stdout), parseDependents("checking dependencies...\n")]).toEqual([["two"], []]);
});

describe("brew", () => {
  const formula = {
    name: "postgresql@16",
    full_name: "postgresql@16",
    aliases: ["postgresql", "postgres"],
    versions: { stable: "16.3", head: null, bottle: true },
    revision: 1,
    pinned: true,
    outdated: true,
    installed: [{ version: "16.2_1", used_options: [], poured_from_bottle: true }],
  };
  const cask = {
    token: "firefox",
    full_token: "firefox",
    version: "126.0",
    installed: null,
    outdated: false,
  };

  test("info --json=v2: formulae by each of their names, with their revision, and casks", () => {
    const found = parseBrewInfo(JSON.stringify({ formulae: [formula], casks: [cask] }));
    const expected = { state: { version: "16.2_1", held: true, leftovers: false }, candidate: "16.3_1" };
    expect(found.get("postgresql@16")).toEqual(expected);
    expect(found.get("postgres")).toEqual(expected);
    expect(found.get("firefox")).toEqual({
      state: { version: null, held: false, leftovers: false },
      candidate: "126.0",
    });
  });

  test("an answer that is none is an error", () => {
    expect(() => parseBrewInfo("Warning: ...")).toThrow("The answer of brew info can't be read.");
  });
});

test.each([
  ["1.22.1-9", "1.22.1-9", true],
  ["1.22.1", "1.22.1-9", false],
  ["1.22*", "1.22.1-9", true],
  ["1.22.1-*", "1.22.10-1", false],
])("the version %s as wanted and %s as found match: %s", (wanted, found, expected) => {
  expect(matchesVersion(wanted, found)).toBe(expected);
});

test("packages that others replace, and others that become older, are told from the table of dnf", () => {
  const table = (replacing: string): string =>
    [
      "Dependencies resolved.",
      "================",
      " Package     Arch     Version     Repository     Size",
      "================",
      "Installing:",
      " new         noarch   1.0-1       test           6.5 k",
      replacing,
      "Downgrading:",
      " lib         noarch   0:1.0-1     test           6.5 k",
      "",
      "Transaction Summary",
    ].join("\n");
  for (const line of [
    "     replacing  old.lib.noarch 1.0-1",
    "   replacing old.lib noarch 1.0-1 @System 0.0   B",
    "     replacing  old.lib.x86_64 5-1",
    "   replacing old.lib x86_64 5-1 @System 0.0   B",
  ])
    expect(parseDnfInstall(table(line))).toEqual({
      replaced: ["old.lib"],
      downgraded: new Map([["lib", "1.0-1"]]),
    });
});

test("others that go and others that become older are told from a simulation of apt", () => {
  const stdout = `The following packages will be REMOVED:
  old
The following packages will be DOWNGRADED:
  lib own
Remv old [1.0]
Inst lib [1.1] (1.0 test:stable [all])
Inst own [1.1] (1.0 test:stable [all])
Conf lib (1.0 test:stable [all])
`;
  expect(parseSimulatedInstall(stdout, new Set(["own"]))).toEqual({
    removes: ["old"],
    downgrades: [{ name: "lib", before: "1.1", after: "1.0" }],
  });
});
