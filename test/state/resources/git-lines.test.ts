/** Each line that git gets for a clone, as whom and where, and what is made of its answers. */
import { describe, expect, test } from "vitest";
import type { HostCommand, HostCommandResult } from "../../../lib/host/host.ts";
import { MemoryHost, type MemoryProgram } from "../../../lib/host/memory-host.ts";
import type { JsonObject } from "../../../lib/json.ts";
import { isWholeHash } from "../../../lib/state/resources/git/program.ts";
import { gitPrograms, type ModelRepository } from "../../support/machine/git.ts";
import { declare, StateFixture } from "../../support/state-fixture.ts";

const [first, second, long] = ["1".repeat(40), "2".repeat(40), "4".repeat(64)];
const url = "https://git.example/site.git";
const repository: ModelRepository = {
  refs: {
    HEAD: second,
    "refs/heads/main": second,
    "refs/heads/both": second,
    "refs/tags/both": first,
    "refs/tags/v1": "3".repeat(40),
    "refs/tags/v1^{}": first,
    "refs/pull/7/head": first,
  },
  commits: { [first]: { page: "one\n" }, [second]: { page: "two\n" }, [long]: { page: "long\n" } },
};

type Answer = Partial<HostCommandResult> | undefined;

/** A machine with a user web and git; `answer` may answer a line in place of the model, without the settings before its verb. */
function start(answer: (line: string) => Answer = () => undefined) {
  const ran: HostCommand[] = [];
  const host: MemoryHost = new MemoryHost({
    users: { root: 0, toor: 0, web: 33 },
    programs: Object.fromEntries(
      ["git", "rm", "sync", "find"].map((name): [string, MemoryProgram] => [
        name,
        (command, signal) => {
          ran.push(command);
          const own = answer(lineOf(command));
          if (own) return own;
          return gitPrograms(() => host.files, { [url]: repository })[name]?.(command, signal) ?? {};
        },
      ]),
    ),
  });
  host.files.makeDirectory("/srv", {});
  const state = new StateFixture(host);
  const run = (mode: "plan" | "apply", more: JsonObject | null) =>
    state.run(mode, more ? declare([{ type: "git", path: "/srv/site", repository: url, ...more }]) : []);
  return {
    host,
    state,
    ran,
    apply: async (more: JsonObject | null) => (await run("apply", more)).results[0],
    plan: async (more: JsonObject | null) => (await run("plan", more)).results[0],
    changing: () => ran.filter(({ asks }) => asks !== true).map(lineOf),
    asking: () => ran.filter(({ asks }) => asks === true).map(lineOf),
  };
}

/** The words of a command without settings and their flags. */
function lineOf({ argv }: HostCommand): string {
  const words = [...argv];
  while (words[1] === "-c") words.splice(1, 2);
  return words.join(" ");
}

const setUp = [
  "git init --quiet --template=",
  `git config --replace-all remote.origin.url ${url}`,
  "git config remote.origin.fetch +refs/heads/*:refs/remotes/origin/*",
];
/** A checkout, and the note of it that is on disk before the first file changes. */
function checkout(commit: string, ...options: string[]): string[] {
  return [
    `git config --replace-all fleetwright.checkout none ${commit}`,
    "sync -f .git",
    ["git checkout --quiet --detach", ...options, commit].join(" "),
    "git config --unset-all fleetwright.checkout",
  ];
}
const all = "+refs/heads/*:refs/remotes/origin/* +refs/tags/*:refs/tags/*";

test.each<[string, JsonObject, string[]]>([
  [
    "a branch",
    { revision: "main" },
    [`git fetch --quiet --no-recurse-submodules origin ${all}`, ...checkout(second)],
  ],
  [
    "the last commit of a tag",
    { revision: "v1", depth: 1, force: true },
    [
      "git fetch --quiet --no-recurse-submodules --depth=1 origin refs/tags/v1",
      ...checkout(first, "--force"),
    ],
  ],
  [
    "some commits up to a hash",
    { revision: first, depth: 3 },
    [`git fetch --quiet --no-recurse-submodules --depth=3 origin ${first}`, ...checkout(first)],
  ],
  [
    "what is recorded of submodules",
    { submodules: true },
    [
      `git fetch --quiet --no-recurse-submodules origin ${all}`,
      ...checkout(second).slice(0, -1),
      "git submodule --quiet sync --recursive",
      "git submodule --quiet update --init --recursive",
      ...checkout(second).slice(-1),
    ],
  ],
  [
    "the same by force and no deeper",
    { submodules: true, force: true, depth: 2 },
    [
      "git fetch --quiet --no-recurse-submodules --depth=2 origin HEAD",
      ...checkout(second, "--force").slice(0, -1),
      "git submodule --quiet sync --recursive",
      "git submodule --quiet update --init --recursive --force --depth=2",
      ...checkout(second).slice(-1),
    ],
  ],
])("a clone is made by its lines, and then on disk: %s", async (_what, more, expected) => {
  const { apply, changing, ran } = start((line) => (line.startsWith("git submodule") ? {} : undefined));
  expect(await apply(more)).toMatchObject({ outcome: "changed" });
  expect(changing()).toEqual([...setUp, ...expected, "sync -f ."]);
  expect(ran.findLast(({ argv }) => argv[0] === "sync")?.cwd).toBe("/srv/site");
});

test("a look at a clone that is as wanted takes two programs", async () => {
  const { apply, ran, asking } = start();
  await apply({ revision: first });
  ran.length = 0;
  expect(await apply({ revision: first })).toMatchObject({ outcome: "unchanged" });
  expect(asking()).toEqual([
    "git rev-parse --git-dir HEAD^{commit}",
    String.raw`git config --null --get-regexp ^(remote\.origin\.url|fleetwright\.checkout)$`,
  ]);
});

test("git runs as the user whose clone it is, asks nobody, and runs nothing that a clone brings", async () => {
  const { apply, ran, host } = start();
  const mine = { user: "web" };
  await apply({ ...mine, revision: "v1" });
  expect(host.files.stat("/srv/site")).toMatchObject({ uid: 33, mode: 0o755 });
  await apply({ ...mine, revision: "main" });
  await apply(null);
  expect(host.files.stat("/srv/site")).toBeNull();
  const own = ran.filter(({ argv }) => argv[0] !== "sync");
  expect(own.filter(({ user }) => user !== "web").map(lineOf)).toEqual([]);
  const git = own.filter(({ argv }) => argv[0] === "git");
  for (const { argv, environment } of git) {
    expect(environment).toMatchObject({
      GIT_TERMINAL_PROMPT: "0",
      GIT_OPTIONAL_LOCKS: "0",
      LC_ALL: "C",
    });
    for (const setting of [
      "core.hooksPath=/dev/null",
      "core.fsmonitor=false",
      "protocol.ext.allow=never",
      "gc.autoDetach=false",
      "maintenance.autoDetach=false",
    ])
      expect(argv).toContain(setting);
  }
  // Only what is elsewhere is asked for from anywhere.
  expect(
    git.filter(({ cwd }) => cwd !== "/srv/site").every((each) => lineOf(each).includes("ls-remote")),
  ).toBe(true);
});

test.each([
  ["a branch before a tag of its name", "both", second],
  ["a tag by its full name", "refs/tags/both", first],
  ["what is neither", "refs/pull/7/head", first],
  ["what an annotated tag points to", "v1", first],
  ["a short hash", first, first],
  ["a long hash", long, long],
])("a revision is %s", async (_what, revision, commit) => {
  const { apply, host, asking } = start();
  expect(await apply({ revision })).toMatchObject({ outcome: "changed" });
  expect(Buffer.from(host.files.readFile("/srv/site/.git/HEAD")).toString().trim()).toBe(commit);
  // Who names a hash needs no network.
  const isHash = revision === commit;
  expect(asking().some((line) => line.startsWith("git ls-remote"))).toBe(!isHash);
});

test.each<[string, boolean]>([
  ["0123456789abcdef".repeat(4).slice(0, 40), true],
  ["0123456789abcdef".repeat(4), true],
  [`release-${"a".repeat(40)}`, false],
  [`${"a".repeat(40)}-rc1`, false],
  ["a".repeat(39), false],
  ["a".repeat(41), false],
  ["a".repeat(63), false],
  ["A".repeat(40), false],
  ["g".repeat(40), false],
  ["", false],
])("%s names a commit for good: %s", (revision, expected) => {
  expect(isWholeHash(revision)).toBe(expected);
});

test("a commit that no branch has is fetched by its hash", async () => {
  let asked = 0;
  const { apply, changing } = start((line) =>
    line.startsWith("git cat-file") && (asked += 1) <= 2 ? { exitCode: asked === 1 ? 1 : 128 } : undefined,
  );
  expect(await apply({ revision: first })).toMatchObject({ outcome: "changed" });
  expect(changing().filter((line) => line.startsWith("git fetch"))).toEqual([
    `git fetch --quiet --no-recurse-submodules origin ${all}`,
    `git fetch --quiet --no-recurse-submodules origin ${first}`,
  ]);
});

describe("submodules", () => {
  const status = "git submodule status --recursive";
  test.each([
    ["at another commit", `+${first} sub (x)\n ${first} at (x)\n`, "1 differ"],
    ["not there yet", `-${first} sub\n-${first} sub/below\n`, "2 differ"],
    ["in conflict", `U${first} sub\n`, "1 differ"],
  ])("that are %s are a difference, until they are as recorded", async (_what, stdout, before) => {
    let isDone = true;
    const { apply, plan } = start((line) => {
      if (line === status) return { stdout: isDone ? ` ${first} sub (x)\n` : stdout };
      if (line.startsWith("git submodule --quiet update")) isDone = true;
      return line.startsWith("git submodule") ? {} : undefined;
    });
    await apply({ submodules: true });
    expect(await apply({ submodules: true })).toMatchObject({ outcome: "unchanged" });
    isDone = false;
    const changes = [{ property: "submodules", before, after: "as recorded" }];
    expect(await plan({ submodules: true })).toMatchObject({ changes });
    expect(await apply({ submodules: true })).toMatchObject({ outcome: "changed", changes });
  });

  test("that somebody changed are changes of the clone", async () => {
    const { apply, asking } = start();
    await apply({ revision: "v1" });
    await apply({ revision: "main" });
    await apply(null);
    expect([...new Set(asking().filter((line) => line.startsWith("git status")))]).toEqual([
      "git status --porcelain --untracked-files=no --ignore-submodules=none",
      "git status --porcelain --untracked-files=normal --ignore-submodules=none",
    ]);
  });
});

test.each(["ls-remote", "fetch"])("no password is in the message of a %s that fails", async (verb) => {
  const stderr = "fatal: unable to access 'https://deploy:hunter2@git.example/site.git/': 403\n";
  const { apply } = start((line) => (line.startsWith(`git ${verb}`) ? { exitCode: 128, stderr } : undefined));
  const result = await apply({ repository: "https://deploy:hunter2@git.example/site.git" });
  expect(result).toMatchObject({ code: "COMMAND_FAILED", exit_code: 128 });
  expect(result?.message).toContain("https://git.example/site.git/': 403");
  expect(JSON.stringify(result)).not.toContain("hunter2");
});

test.each([
  [undefined, "HOST_ERROR"],
  ["root", "HOST_ERROR"],
  ["0", "HOST_ERROR"],
  ["toor", "HOST_ERROR"],
  ["web", undefined],
])("as root git works in no folder that somebody else can lead elsewhere: as %s", async (user, code) => {
  const { host, apply, ran } = start();
  const { files } = host;
  const ledBy = files.ledBy.bind(files);
  files.ledBy = (path) => (path.startsWith("/srv/site") ? 33 : ledBy(path));
  const result = await apply(user === undefined ? {} : { user });
  expect(result?.code).toBe(code);
  if (code !== undefined) expect([result?.message, ran]).toEqual([expect.stringContaining("(web)"), []]);
});

test("a clone of more files than one line can hold is emptied", async () => {
  const { host, apply, ran } = start();
  await apply({});
  for (let count = 0; count < 1203; count += 1)
    host.files.writeFile(`/srv/site/f${count}`, new Uint8Array(), {});
  await apply({ force: true });
  ran.length = 0;
  expect(await apply(null)).toMatchObject({ outcome: "changed" });
  expect(host.files.stat("/srv/site")).toBeNull();
  const removals = ran.filter(({ argv }) => argv[0] === "rm").map(({ argv }) => argv.slice(3));
  expect(removals.map(({ length }) => length)).toEqual([500, 500, 204, 2]);
  expect(removals.at(-1)).toEqual(["./.git/HEAD", "./.git"]);
});

test("a clone that can't be emptied is still there, and ours", async () => {
  let isStuck = true;
  const { state, apply } = start((line) =>
    isStuck && line.startsWith("rm -rf -- ./") ? { exitCode: 1 } : undefined,
  );
  await apply({});
  expect(await apply(null)).toMatchObject({ code: "HOST_ERROR", message: "/srv/site can't be emptied." });
  expect(state.applied).toHaveLength(1);
  isStuck = false;
  expect(await apply(null)).toMatchObject({ outcome: "changed" });
});
