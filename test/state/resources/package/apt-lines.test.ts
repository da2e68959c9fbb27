/** Each line that apt and dpkg get, with what they answer as recorded on Debian 12, and what is made of it. */
import { describe, expect, test } from "vitest";
import { aptProvider as apt } from "../../../../lib/state/resources/package/apt.ts";
import type { PackageMachine } from "../../../../lib/state/resources/package/provider.ts";
import { type Answers, answering } from "../../../support/machine/answering.ts";

const program = "/usr/bin/apt-get";
const aptGet = `${program} -q -y -o Dpkg::Use-Pty=0 -o DPkg::Lock::Timeout=300 -o Dpkg::Options::=--force-confdef -o Dpkg::Options::=--force-confold`;
const withoutCaches = "-o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache=";
const simulate = `${program} ${withoutCaches} -s -q`;
const policy = `apt-cache ${withoutCaches} policy --`;
const query =
  "dpkg-query -W -f ${Package}\\t${Architecture}\\t${db:Status-Want}\\t${db:Status-Status}\\t${Version}\\n --";

const known = (...names: string[]): string =>
  names
    .map((name) => `${name}:\n  Installed: (none)\n  Candidate: 1.0\n  Version table:\n     1.0 500\n`)
    .join("");
const request = (name: string, version?: string) => ({ name, version, installed: false });

test.each<[string, Answers, (machine: PackageMachine) => Promise<unknown>]>([
  [
    "an installation takes nothing away and keeps changed configuration",
    { [`${policy} nginx`]: known("nginx"), [`${aptGet} --no-remove install -- nginx`]: "" },
    (machine) => apt.install([request("nginx")], machine),
  ],
  [
    "an installation of which others were told to go",
    { [`${policy} nginx`]: known("nginx"), [`${aptGet} install -- nginx`]: "" },
    (machine) => apt.install([request("nginx")], machine, { mayRemove: true }),
  ],
  [
    "a version beside packages without one may be an older one",
    {
      [`${policy} jq nginx`]: known("jq", "nginx"),
      [`${aptGet} --allow-downgrades --no-remove install -- jq nginx=1.0`]: "",
    },
    (machine) => apt.install([request("jq"), request("nginx", "1.0")], machine),
  ],
  [
    "a package of the machine's own architecture, which the answer leaves out",
    { [`${policy} libc6:amd64`]: known("libc6"), [`${aptGet} --no-remove install -- libc6:amd64`]: "" },
    (machine) => apt.install([request("libc6:amd64")], machine),
  ],
  [
    "an update fails where one source can't be reached",
    { [`${aptGet} -o APT::Update::Error-Mode=any update`]: "" },
    (machine) => apt.refresh(machine),
  ],
  [
    "a removal keeps the configuration",
    { [`${aptGet} remove -- nginx jq`]: "" },
    (machine) => apt.remove(["nginx", "jq"], { purge: false, alone: false }, machine),
  ],
  [
    "a purge takes it along",
    { [`${aptGet} purge -- nginx`]: "" },
    (machine) => apt.remove(["nginx"], { purge: true, alone: false }, machine),
  ],
  [
    "a removal of what is ours asks first who else would go, itself in another architecture left out",
    {
      [`${simulate} remove -- libc6`]: "Remv libc6:i386 [2.36]\nPurg libc6 [2.36]\n",
      [`${aptGet} remove -- libc6`]: "",
    },
    (machine) => apt.remove(["libc6"], { purge: false, alone: true }, machine),
  ],
  ["a hold", { "apt-mark hold -- jq": "" }, (machine) => apt.setHeld!(["jq"], true, machine)],
  ["the end of a hold", { "apt-mark unhold -- jq": "" }, (machine) => apt.setHeld!(["jq"], false, machine)],
  ["a mark", { "apt-mark auto jq sl": "" }, (machine) => apt.markDependencies!(["jq", "sl"], machine)],
])("apt does by its lines: %s", async (_what, answers, act) => {
  const { machine, ran, lines } = answering(program, answers);
  await act(machine);
  expect(lines()).toEqual(Object.keys(answers));
  for (const { argv, environment } of ran.filter(({ argv }) => argv.includes("-y")))
    expect({ argv, environment }).toMatchObject({
      environment: { DEBIAN_FRONTEND: "noninteractive", APT_LISTCHANGES_FRONTEND: "none", LC_ALL: "C" },
    });
});

describe("what an interrupted dpkg left", () => {
  const configure = "dpkg --force-confdef --force-confold --configure -a";
  const acts: [string, (machine: PackageMachine) => Promise<void>, string[]][] = [
    ["an installation", (machine) => apt.install([request("jq")], machine), [`${policy} jq`]],
    ["a removal", (machine) => apt.remove(["jq"], { purge: false, alone: false }, machine), []],
  ];
  test.each(acts)("is finished before %s, and nobody is asked", async (_what, act, asked) => {
    for (const [name, isLeft] of [
      ["0000", true],
      ["0012", true],
      ["tmp.i", false],
    ] as const) {
      const removal = `${aptGet} remove -- jq`;
      const install = `${aptGet} --no-remove install -- jq`;
      const { machine, ran, lines } = answering(program, {
        [configure]: "",
        [`${policy} jq`]: known("jq"),
        [removal]: "",
        [install]: "",
      });
      for (const path of ["/var", "/var/lib", "/var/lib/dpkg", "/var/lib/dpkg/updates"])
        machine.host.files.makeDirectory(path, {});
      machine.host.files.writeFile(`/var/lib/dpkg/updates/${name}`, new Uint8Array(), {});
      await act(machine);
      expect(lines().slice(0, -1)).toEqual([...(isLeft ? [configure] : []), ...asked]);
      if (isLeft) expect(ran[0]?.environment).toMatchObject({ DEBIAN_FRONTEND: "noninteractive" });
    }
  });
});

const downgrade = `The following packages will be DOWNGRADED:
  lib:i386 own:i386
Remv old [1.0]
Inst lib:i386 [1.1] (1.0 test:stable [all])
Inst own:i386 [1.1] (1.0 test:stable [all])
`;

test.each<[string, Answers, (machine: PackageMachine) => Promise<unknown>, unknown]>([
  [
    "the first of several states of a name, and what waits for the triggers of another",
    {
      [`${query} a b c`]: {
        exitCode: 1,
        stdout: "a\tamd64\tdeinstall\tconfig-files\t1\nb\tamd64\tinstall\ttriggers-awaited\t2\n",
      },
    },
    (machine) => apt.query(["a", "b", "c"], machine),
    [
      { version: null, held: false, leftovers: true },
      { version: "2", held: false, leftovers: false },
      { version: null, held: false, leftovers: false },
    ],
  ],
  [
    "no effects where it would refuse, whatever it printed by then",
    { [`${simulate} install -- jq`]: { exitCode: 100, stdout: "Remv old [1.0]\n" } },
    (machine) => apt.foretellInstall!([request("jq")], machine),
    null,
  ],
  [
    "effects on others, itself in another architecture left out",
    { [`${simulate} --allow-downgrades install -- own:i386=1.0`]: downgrade },
    (machine) => apt.foretellInstall!([request("own:i386", "1.0")], machine),
    { removes: ["old"], downgrades: [{ name: "lib:i386", before: "1.1", after: "1.0" }] },
  ],
  ...["jq-", "jq+", "lib.so", "jq/stable"].map(
    (name): [string, Answers, (machine: PackageMachine) => Promise<unknown>, unknown] => [
      `no effects of ${name}, which it would take for something else`,
      { [`${policy} ${name}`]: "" },
      (machine) => apt.foretellInstall!([request("sl"), request(name)], machine),
      null,
    ],
  ),
  [
    "who else would go, where the removal would fail",
    { [`${simulate} remove -- jq`]: { exitCode: 100, stdout: "Remv site [1]\nPurg page [1]\n" } },
    (machine) => apt.foretellRemoval!(["jq"], machine),
    ["site", "page"],
  ],
  [
    "who is there, without those that left their configuration",
    { "dpkg-query -W -f ${Package}\\t${db:Status-Status}\\n": "jq\tinstalled\nsl\tconfig-files\n" },
    (machine) => apt.installedNames!(machine),
    ["jq"],
  ],
  [
    "who is there for others",
    { "apt-mark showauto jq sl": "sl\n" },
    (machine) => apt.dependencies!(["jq", "sl"], machine),
    ["sl"],
  ],
])("apt tells by its answers: %s", async (_what, answers, askIt, expected) => {
  const { machine, ran, lines } = answering(program, answers);
  expect(await askIt(machine)).toEqual(expected);
  expect(lines()).toEqual(Object.keys(answers));
  expect(ran.filter(({ asks }) => asks !== true)).toEqual([]);
});

test.each<[string, string, (machine: PackageMachine) => Promise<unknown>, number]>([
  ["what is there", `${query} jq`, (machine) => apt.query(["jq"], machine), 2],
  ["the newest versions", `${policy} jq`, (machine) => apt.candidates(["jq"], machine), 1],
  ["effects", `${simulate} install -- jq`, (machine) => apt.foretellInstall!([request("jq")], machine), 1],
  ["who else goes", `${simulate} remove -- jq`, (machine) => apt.foretellRemoval!(["jq"], machine), 1],
  ["marks", "apt-mark showauto jq", (machine) => apt.dependencies!(["jq"], machine), 1],
])("a question that fails is no answer: apt asked for %s", async (_what, line, askIt, exitCode) => {
  const { machine } = answering(program, { [line]: { exitCode } });
  await expect(askIt(machine)).rejects.toMatchObject({
    code: "COMMAND_FAILED",
    details: { exit_code: exitCode },
  });
});

test("what apt says of a name that it does not know is in the refusal; it is not asked of one that it would mistake", async () => {
  const stderr = "E: Unable to locate package none\n";
  const words = answering(program, {
    [`${simulate} install -- none`]: { exitCode: 100, stderr },
    [`${policy} none`]: "",
  });
  expect(await apt.rehearseInstall!([request("none")], words.machine)).toMatchObject({
    code: "HOST_ERROR",
    message: `The index knows no package of this name: none. ${program} exited with 100: ${stderr.trim()}`,
    details: { packages: ["none"] },
  });
  const mistaken = answering(program, { [`${policy} jq-`]: "" });
  expect(await apt.rehearseInstall!([request("jq-")], mistaken.machine)).toMatchObject({
    message: "The index knows no package of this name: jq-.",
  });
  const refusing = answering(program, {
    [`${simulate} install -- jq`]: { exitCode: 100, stderr: "E: Held packages were changed\n" },
    [`${policy} jq`]: known("jq"),
  });
  expect(await apt.rehearseInstall!([request("jq")], refusing.machine)).toMatchObject({
    code: "COMMAND_FAILED",
  });
});
