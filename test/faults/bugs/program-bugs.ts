/** Bugs in what programs are told, as whom, and in what is made of their answers. */
import type { Bug } from "./bugs.ts";

const aptLines = ["test/state/resources/package/apt-lines.test.ts"];
const managerLines = ["test/state/resources/package/manager-lines.test.ts"];
const gitLines = ["test/state/resources/git-lines.test.ts"];
const serviceLines = ["test/state/resources/service/lines.test.ts"];

export const programBugs: readonly Bug[] = [
  {
    name: "a package that has a question waits for somebody to answer it",
    file: "lib/state/resources/package/apt.ts",
    from: `{ DEBIAN_FRONTEND: "noninteractive", `,
    to: `{ `,
    tests: aptLines,
  },
  {
    name: "a name that apt takes for a pattern is asked for as a package",
    file: "lib/state/resources/package/apt.ts",
    from: `/[-+]$|[./]/`,
    to: `/[-+]$/`,
    tests: aptLines,
  },
  {
    name: "a database of packages that can't be read is taken for an empty one",
    file: "lib/state/resources/package/apt.ts",
    from: `      machine,\n      [0, 1],\n    );`,
    to: `      machine,\n      [0, 1, 2],\n    );`,
    tests: aptLines,
  },
  {
    name: "a plan fetches the index of dnf",
    file: "lib/state/resources/package/dnf.ts",
    from: `transactionOf(["-C", "install"`,
    to: `transactionOf(["install"`,
    tests: managerLines,
  },
  {
    name: "packages that dnf 4 holds are taken for free",
    file: "lib/state/resources/package/dnf.ts",
    from: `"/etc/dnf/plugins/versionlock.list", `,
    to: ``,
    tests: managerLines,
  },
  {
    name: "pacman is asked who was asked for in place of who came along",
    file: "lib/state/resources/package/pacman.ts",
    from: `"-Qqd", "--"`,
    to: `"-Qqe", "--"`,
    tests: managerLines,
  },
  {
    name: "git runs as another name of root where somebody else leads",
    file: "lib/state/resources/git/folder.ts",
    from: ` || host.users.userId(user) === 0`,
    to: ``,
    tests: gitLines,
  },
  {
    name: "a tag comes before the branch of its name",
    file: "lib/state/resources/git/clone.ts",
    from: "[`refs/heads/${revision}`, `refs/tags/${revision}`]",
    to: "[`refs/tags/${revision}`, `refs/heads/${revision}`]",
    tests: gitLines,
  },
  {
    name: "the agent is taken for a part of a service whose name begins as its own",
    file: "lib/state/resources/service/systemd.ts",
    from: "path.startsWith(`${group}/`)",
    to: "path.startsWith(group)",
    tests: serviceLines,
  },
  {
    name: "a service that systemd restarts again and again counts as started",
    file: "lib/state/resources/service/systemd.ts",
    from: `toServiceState(shown).running === true && restartsOf(shown) === restartsOf(started)`,
    to: `toServiceState(shown).running === true`,
    tests: serviceLines,
  },
  {
    name: "what was purged under its mask is started when the mask goes",
    file: "lib/state/resources/service.ts",
    from: `    if (isGone(spec, state)) return;\n`,
    tests: ["test/state/resources/service.test.ts"],
  },
  {
    name: "a judge is shown a copy that somebody else can lead elsewhere",
    file: "lib/state/foreseen/judged-copy.ts",
    from: `folder === undefined || files.ledBy(folder) !== null`,
    to: `folder === undefined`,
    tests: ["test/state/judged-change.test.ts"],
  },
  {
    name: "a plan fails on a disk that something before makes writable",
    file: "lib/state/foreseen/bringers.ts",
    from: ` || errno === "EROFS"`,
    to: ``,
    tests: ["test/state/foreseen/foresight.test.ts"],
  },
  {
    name: "repairs of another revision count where the one before was given up",
    file: "lib/drift/enforcement.ts",
    from: `isSame ? before : {}`,
    to: `before ?? {}`,
    tests: ["test/drift/enforcement.test.ts"],
  },
  {
    name: "the operation of a drift check stays when its record goes",
    file: "lib/drift/conclusion.ts",
    from: `    { kind: "delete", collection: "operations", key: drift_id },\n`,
    tests: ["test/drift/scheduled-checks.test.ts"],
  },
];
