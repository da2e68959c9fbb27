/** What a process that was killed left beside the files that it wrote is taken away by the next, and nothing else. */
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { systemClock } from "../../lib/clock.ts";
import { LocalHost } from "../../lib/host/local-host.ts";
import { bootOf, processAt } from "../../lib/host/process-table.ts";
import { runState } from "../../lib/state/run/engine.ts";
import { serveFiles } from "../support/file-server.ts";
import { declare } from "../support/state-fixture.ts";
import { buildProgram } from "../support/strace.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const uuid = "0f0f0f0f-1111-2222-3333-444444444444";
const mark = "0f0f0f0f11112222";
const left = [
  `.fleetwright-${mark}-${uuid}`,
  `.fleetwright-${mark}-0123456789abcdef.part`,
  `.fleetwright-${mark}-0123456789abcdef.validate`,
];
const others = [
  ".fleetwright-notes",
  ".file.validate",
  `fleetwright-${mark}-${uuid}`,
  `.fleetwright-${mark}-0123.part`,
  // Those of another agent.
  `.fleetwright-aaaaaaaaaaaaaaaa-${uuid}`,
  ".fleetwright-aaaaaaaaaaaaaaaa-0123456789abcdef.part",
];

/** A number that no process has: that of one that has ended. */
function endedPid(): number {
  return spawnSync("true").pid;
}

/** A folder where a process was killed that had noted it, in a list of this name. */
function killed(list: string): { folder: string; work: string; stateFolder: string } {
  const folder = temporaryFolder();
  const work = join(folder, "two\nlines");
  const stateFolder = join(folder, "state");
  for (const path of [work, stateFolder]) mkdirSync(path);
  for (const name of [...left, ...others]) writeFileSync(join(work, name), "x");
  mkdirSync(join(work, `.fleetwright-${mark}-${uuid.replace("0f", "aa")}`));
  mkdirSync(join(stateFolder, list.replace("writing", "work"), "sub"), { recursive: true });
  writeFileSync(join(stateFolder, list), `${JSON.stringify(work)}\n"/gone"\n"rel`);
  return { folder, work, stateFolder };
}

test.each([
  ["that is gone", () => `writing-${endedPid()}-${uuid}`],
  ["that had the number of this one", () => `writing-${process.pid}-${uuid}`],
])("a process %s has its leftovers taken away, and no file of others", (_which, list) => {
  const { work, stateFolder } = killed(list());
  void new LocalHost({ stateFolder });
  const kept = [...others, `.fleetwright-${mark}-${uuid.replace("0f", "aa")}`];
  expect(readdirSync(work).sort()).toEqual(kept.sort());
  expect(readdirSync(stateFolder)).toEqual([]);
});

test("what another agent is writing stays, whoever's folder of lists names its folder", async () => {
  const { work, stateFolder } = killed(`writing-${endedPid()}-${uuid}`);
  const server = await serveFiles();
  onTestFinished(() => server.stop());
  const other = new LocalHost({ stateFolder: temporaryFolder() });
  const ending = new AbortController();
  const request = { url: `${server.url}/endless`, path: join(work, "big"), sha256: "", attributes: {} };
  const running = other.download(request, ending.signal).catch(() => null);
  const parts = (): string[] => readdirSync(work).filter((name) => name.includes(other.mark));
  while (parts().length === 0) await new Promise((resolve) => setImmediate(resolve));
  const writing = parts();
  void new LocalHost({ stateFolder });
  expect(parts()).toEqual(writing);
  expect(readdirSync(work)).not.toEqual(expect.arrayContaining(left.slice(0, 1)));
  ending.abort();
  await running;
});

test("a process that still runs keeps what it is writing", () => {
  const { work, stateFolder } = killed(`writing-${process.ppid}-${uuid}`);
  void new LocalHost({ stateFolder });
  expect(readdirSync(work)).toEqual(expect.arrayContaining(left));
});

test.each([
  ["EPERM", "it is another user's, and keeps", left.length],
  ["ESRCH", "there is none, and it keeps", 0],
] as const)("of a process that answers with %s %s %i of its leftovers", (code, _why, count) => {
  const pid = endedPid();
  const kill = vi.spyOn(process, "kill").mockImplementation(() => {
    throw Object.assign(new Error(code), { code });
  });
  onTestFinished(() => kill.mockRestore());
  const { work, stateFolder } = killed(`writing-${pid}-${uuid}`);
  void new LocalHost({ stateFolder });
  expect(kill.mock.calls).toContainEqual([pid, 0]);
  expect(readdirSync(work).filter((name) => left.includes(name))).toHaveLength(count);
});

test.each([
  ["it began at another time", (begun: number, boot: string) => `${begun + 1}-${boot}`],
  ["the machine was started since", (begun: number) => `${begun}-00000000`],
])("a number that another process has by now keeps no leftovers: %s", (_why, since) => {
  const pid = process.ppid;
  const boot = bootOf().slice(0, 8);
  const begun = processAt(pid)?.begun ?? 0;
  const { work, stateFolder } = killed(`writing-${pid}-${since(begun, boot)}-${uuid}`);
  void new LocalHost({ stateFolder });
  expect(readdirSync(work)).not.toEqual(expect.arrayContaining(left.slice(0, 1)));
  expect(readdirSync(stateFolder)).toEqual([]);
  const running = killed(`writing-${pid}-${begun}-${boot}-${uuid}`);
  void new LocalHost({ stateFolder: running.stateFolder });
  expect(readdirSync(running.work)).toEqual(expect.arrayContaining(left));
});

test("what is written is noted until it is durable", async () => {
  const folder = temporaryFolder();
  const stateFolder = join(folder, "state");
  const host = new LocalHost({ stateFolder });
  host.files.writeFile(join(folder, "a"), Buffer.from("x"), {});
  host.files.makeSymlink(join(folder, "b"), "a");
  expect(readdirSync(stateFolder)).toEqual([expect.stringMatching(`^writing-${process.pid}-`)]);
  // Another host of the same process leaves alone what this one is writing.
  void new LocalHost({ stateFolder });
  expect(readdirSync(stateFolder)).toHaveLength(1);
  await host.barrier();
  expect(readdirSync(stateFolder)).toEqual([]);
});

test("what is written while all before it becomes durable stays noted until that is, too", async () => {
  const folder = temporaryFolder();
  const stateFolder = join(folder, "state");
  const places = ["first", "second"].map((name) => join(folder, name));
  for (const place of places) mkdirSync(place);
  const host = new LocalHost({ stateFolder });
  const write = (place = ""): void => host.files.writeFile(join(place, "a"), Buffer.from("x"), {});
  const noted = (): string[] =>
    readdirSync(stateFolder).flatMap((name) => readFileSync(join(stateFolder, name), "utf8").split("\n"));
  write(places[0]);
  const flushing = host.barrier();
  write(places[1]);
  await flushing;
  expect(noted()).toContain(JSON.stringify(places[1]));
  await host.barrier();
  expect(noted()).toEqual([]);
});

const written: [string, (host: LocalHost, path: string) => unknown][] = [
  ["a file", (host, path) => host.files.writeFile(path, Buffer.from("x"), {})],
  ["a link", (host, path) => host.files.makeSymlink(path, "a")],
];

test.each(written)(
  "%s that is written in the same folder after that is noted again, each time",
  async (_what, write) => {
    const folder = temporaryFolder();
    const stateFolder = join(folder, "state");
    const host = new LocalHost({ stateFolder });
    for (let round = 0; round < 3; round += 1) {
      write(host, join(folder, `${round}`));
      const [list = "none"] = readdirSync(stateFolder);
      expect(readFileSync(join(stateFolder, list), "utf8")).toBe(`${JSON.stringify(folder)}\n`);
      await host.barrier();
      expect(readdirSync(stateFolder)).toEqual([]);
    }
  },
);

test("an agent that is killed while a program judges a copy leaves none for longer than until it starts again", async () => {
  const folder = temporaryFolder();
  const path = join(folder, "conf");
  writeFileSync(path, "old");
  const source = new URL("../support/validating-process.ts", import.meta.url);
  const program = await buildProgram(source, temporaryFolder());
  const { signal } = spawnSync(process.execPath, [program, folder]);
  expect(signal).toBe("SIGKILL");
  expect(readdirSync(folder).filter((name) => name.endsWith(".validate"))).toHaveLength(1);
  void new LocalHost({ stateFolder: join(folder, "state") });
  expect(readdirSync(folder).sort()).toEqual(["conf", "state"]);
  expect(readdirSync(join(folder, "state")).filter((name) => name.startsWith("writing-"))).toEqual([]);
});

test.each([
  ["refuses it", ["false", "%"], "COMMAND_FAILED"],
  ["is not there", ["/no/such/program", "%"], "HOST_ERROR"],
  ["takes the copy away", ["rm", "%"], undefined],
] as const)("no copy stays where the program %s", async (_what, validate, code) => {
  const folder = temporaryFolder();
  const path = join(folder, "conf");
  const { results } = await runState({
    mode: "apply",
    desired: declare([{ id: "f", type: "file", path, content: "x", validate: [...validate] }]),
    applied: [],
    host: new LocalHost({ stateFolder: join(folder, "state") }),
    clock: systemClock,
    signal: new AbortController().signal,
    timeoutMs: 60_000,
  });
  expect(results[0]?.code).toBe(code);
  expect(readdirSync(folder).filter((name) => name.startsWith("."))).toEqual([]);
  expect(existsSync(path)).toBe(code === undefined);
});
