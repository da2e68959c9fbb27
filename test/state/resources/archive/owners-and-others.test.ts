/** What others say of something in the folder of an archive, where somebody else can change that, or the agent is killed meanwhile. */
import { execFileSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { LocalHost } from "../../../../lib/host/local-host.ts";
import type { JsonObject } from "../../../../lib/json.ts";
import type { ResolvedResource } from "../../../../lib/state/resource.ts";
import { declare, outcomes, StateFixture } from "../../../support/state-fixture.ts";
import { temporaryFolderOnDisk } from "../../../support/temporary-folder.ts";

const stranger = 65_534;
const isRoot = process.platform === "linux" && process.getuid?.() === 0;
if (!isRoot) console.warn("Skipped: archives in folders of other users: only root can give a folder away.");

interface Scene {
  state: StateFixture;
  run: string;
  archive: ResolvedResource[];
  other: ResolvedResource[];
  pack: (text: string) => void;
}

/** An archive of one program, about which another module says something, in a folder of somebody. */
function begin(folderOf: number | null, { owner, says }: { owner?: string; says: JsonObject }): Scene {
  const base = temporaryFolderOnDisk();
  chmodSync(base, 0o755);
  const path = join(base, "home/tool");
  mkdirSync(path, { recursive: true });
  if (folderOf !== null) for (const each of [join(base, "home"), path]) chownSync(each, folderOf, folderOf);
  const [content, source] = [join(base, "content"), join(base, "a.tar")];
  mkdirSync(content);
  const pack = (text: string): void => {
    writeFileSync(join(content, "run"), text);
    execFileSync("tar", ["-cf", source, "--mode=0755", "-C", content, "run"]);
  };
  pack("good 1\n");
  const owned = owner !== undefined && { owner, group: owner };
  const run = join(path, "run");
  return {
    state: new StateFixture(new LocalHost({ stateFolder: join(base, "state") }) as never),
    run,
    archive: declare([{ id: "r", type: "archive", path, source, ...owned }], "a"),
    other: declare([{ id: "g", type: "file", path: run, ...says }], "b"),
    pack,
  };
}

const said: [what: string, says: JsonObject][] = [
  ["content and mode", { content: "settings\n", mode: "0755" }],
  ["content", { content: "settings\n" }],
  ["mode", { mode: "0700" }],
  ["owner and mode", { owner: "nobody", mode: "0755" }],
  ["owner, group and mode", { owner: "nobody", group: "nogroup", mode: "0755" }],
  ["absence", { ensure: "absent" }],
];

const owners = [undefined, "0", "nobody"];

test.runIf(isRoot)(
  "links of an archive that has an owner lead where they did, and what is no link is the owner's",
  async () => {
    const base = temporaryFolderOnDisk();
    const [path, content, source] = [join(base, "tool"), join(base, "content"), join(base, "a.tar")];
    mkdirSync(join(content, "d"), { recursive: true });
    writeFileSync(join(content, "d/f"), "x");
    const links = { file: "d/f", folder: "d", nothing: "gone" };
    for (const [name, to] of Object.entries(links)) symlinkSync(to, join(content, name));
    execFileSync("tar", ["-cf", source, "-C", content, "d", ...Object.keys(links)]);
    const state = new StateFixture(new LocalHost({ stateFolder: join(base, "state") }) as never);
    const desired = declare([{ type: "archive", path, source, owner: "nobody", group: "nogroup" }]);
    expect((await state.run("apply", desired)).results).toMatchObject([{ outcome: "changed" }]);
    for (const [name, to] of Object.entries(links)) expect(readlinkSync(join(path, name))).toBe(to);
    for (const name of ["", "d", "d/f"]) expect(lstatSync(join(path, name)).uid, name).toBe(stranger);
    expect(outcomes(await state.run("apply", desired))).toEqual([expect.stringContaining("unchanged")]);
  },
);

test.runIf(isRoot).each(said.flatMap(([what, says]) => owners.map((owner) => [what, owner, says] as const)))(
  "whoever owns the folder gets nothing of root's by what another module says of %s, with the owner %s",
  async (_what, owner, says) => {
    const { state, run, archive, other, pack } = begin(stranger, {
      says,
      ...(owner !== undefined && { owner }),
    });
    await state.run("apply", [...archive, ...other]);
    rmSync(run, { force: true });
    writeFileSync(run, "evil\n");
    chownSync(run, stranger, stranger);
    chmodSync(run, 0o6777);
    pack("good 2\n");
    await state.run("apply", archive, { scope: ["a"] });
    const stat = statSync(run, { throwIfNoEntry: false });
    if (!stat || (stat.uid === stranger && stat.gid === stranger)) return;
    expect([stat.mode & 0o6022, readFileSync(run, "utf8")]).toEqual([0, "good 2\n"]);
  },
);

test.each([
  ["mode", { mode: "0600" }],
  ["content and mode", { content: "settings\n", mode: "0600" }],
] as const)(
  "what another module says of the %s lasts where the agent ends behind tar",
  async (_what, says) => {
    const { state, run, archive, other, pack } = begin(null, { says });
    await state.run("apply", [...archive, ...other]);
    const before = readFileSync(run, "utf8");
    pack("good 2\n");
    const { host } = state;
    const start = host.run.bind(host);
    host.run = async (command, signal) => {
      const result = await start(command, signal);
      if (command.argv.includes("--extract")) throw new Error("killed");
      return result;
    };
    expect(outcomes(await state.run("apply", archive, { scope: ["a"] }))).toEqual(["r failed"]);
    host.run = start;
    const modeOf = (): number => statSync(run).mode & 0o7777;
    expect(modeOf()).toBe(0o600);
    expect(outcomes(await state.run("apply", archive, { scope: ["a"] }))).toEqual(["r changed"]);
    expect([modeOf(), readFileSync(run, "utf8")]).toEqual([0o600, "content" in says ? before : "good 2\n"]);
    expect(outcomes(await state.run("apply", [...archive, ...other]))).toEqual([
      "r unchanged",
      "g unchanged",
    ]);
  },
);
