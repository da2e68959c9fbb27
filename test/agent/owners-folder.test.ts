import fs, { chmodSync, chownSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { CustomMetrics } from "../../lib/agent/metrics/custom-metrics.ts";
import { systemClock } from "../../lib/clock.ts";
import { LocalHost } from "../../lib/host/local-host.ts";
import { RecordingLogger } from "../support/recording-logger.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const isRoot = process.getuid?.() === 0;
if (!isRoot) console.warn("Skipped: whose files are believed: only root can give them away.");

const never = new Promise<null>(() => {});

function begin() {
  const stateDir = temporaryFolder();
  const folder = join(stateDir, "metrics.d");
  mkdirSync(folder, { mode: 0o755 });
  const logger = new RecordingLogger();
  const host = new LocalHost({ stateFolder: stateDir, clock: systemClock });
  const custom = new CustomMetrics({ stateDir, host, logger });
  onTestFinished(() => custom.stop());
  const put = (name: string, text: string, mode = 0o644): string => {
    const path = join(folder, name);
    writeFileSync(path, text);
    chmodSync(path, mode);
    return path;
  };
  return { custom, folder, logger, put };
}

const program = (body: string): string => `#!/bin/sh\n${body}\n`;

describe.runIf(process.platform === "linux")("what the owner of a machine adds", () => {
  test("is read from files and programs, also from those that come later, and goes with them", async () => {
    const { custom, put } = begin();
    expect(await custom.collect(never)).toEqual({});
    put("queue.prom", "queue_length 5\n");
    put("gpu", program('echo "gpu_percent{card=\\"0\\"} 42"'), 0o755);
    put("notes.txt", "queue_length 7\n");
    put(".hidden.prom", "hidden 7\n");
    expect(await custom.collect(never)).toEqual({
      "custom.queue_length": 5,
      "custom.gpu_percent{card=0}": 42,
    });
    put("queue.prom", "queue_length 6\n");
    put("gpu", program("true"), 0o755);
    expect(await custom.collect(never)).toEqual({ "custom.queue_length": 6 });
  });

  test("is told as past the room of a sample, once, beside what can't be read", async () => {
    const { custom, put, logger } = begin();
    const lines = (name: string, count: number): string =>
      Array.from({ length: count }, (_, at) => `${name}_${at} 1\n`).join("");
    const [first, second] = [put("a.prom", lines("a", 150)), put("b.prom", `${lines("b", 250)}b NaN\n`)];
    const machine = { "load.1": 1, "load.5": 1 };
    const reasons = () => logger.lines.map(({ fields }) => [fields?.["path"], fields?.["reason"]]);
    for (let look = 0; look < 2; look++) await custom.collect(never, Promise.resolve(machine));
    const unread = "1 of its lines have no value that can be taken, or another line gives the same series.";
    const past = (count: number): string => `${count} of its series are past the 200 that a sample may have.`;
    expect(reasons()).toEqual([[second, `${unread} ${past(202)}`]]);
    const more = Object.fromEntries(Array.from({ length: 60 }, (_, at) => [`load.${at}`, 1]));
    await custom.collect(never, Promise.resolve(more));
    expect(reasons().slice(1)).toEqual([
      [first, past(10)],
      [second, `${unread} ${past(250)}`],
    ]);
  });

  test.each<[what: string, make: (path: string) => void]>([
    ["that its group may write", (path) => chmodSync(path, 0o775)],
    ["that anybody may write", (path) => chmodSync(path, 0o757)],
    ["of another user", (path) => chownSync(path, 12_345, 0)],
  ])("is neither read nor run where it is a file %s, or stands in such a folder", async (_what, make) => {
    if (process.getuid?.() !== 0) return;
    const { custom, put, folder, logger } = begin();
    put("good.prom", "good 1\n");
    make(put("bad.prom", "bad 1\n"));
    make(put("program", program("echo program 1"), 0o755));
    for (let look = 0; look < 3; look++) expect(await custom.collect(never)).toEqual({ "custom.good": 1 });
    expect(logger.of("warn")).toHaveLength(2);
    make(folder);
    expect(await custom.collect(never)).toEqual({});
  });

  test.runIf(isRoot)("is believed where it is root's or the agent's own, and no one else's", async () => {
    const { getuid } = process;
    onTestFinished(() => void (process.getuid = getuid!));
    const { custom, put } = begin();
    const own = 12_345;
    const owners = { roots: 0, own, others: own + 1 };
    for (const [name, uid] of Object.entries(owners)) chownSync(put(`${name}.prom`, `${name} 1\n`), uid, 0);
    const namesAs = async (uid: number): Promise<string[]> => {
      process.getuid = () => uid;
      return Object.keys(await custom.collect(never)).sort();
    };
    expect(await namesAs(own)).toEqual(["custom.own", "custom.roots"]);
    expect(await namesAs(0)).toEqual(["custom.roots"]);
  });

  test.each<[mode: number, isProgram: boolean]>([
    [0o700, true],
    [0o744, true],
    [0o500, true],
    [0o610, false],
    [0o601, false],
    [0o655, false],
    [0o644, false],
  ])("with mode %o: that it is run is %j", async (mode, isProgram) => {
    const { custom, put, logger } = begin();
    put("program", program("echo program 1"), mode);
    expect(await custom.collect(never)).toEqual(isProgram ? { "custom.program": 1 } : {});
    expect(logger.lines).toEqual([]);
  });

  test.each([0o777, 0o775, 0o757])(
    "is nothing to tell of where an empty folder has mode %o",
    async (mode) => {
      const { custom, folder, logger } = begin();
      chmodSync(folder, mode);
      expect([await custom.collect(never), logger.lines]).toEqual([{}, []]);
    },
  );

  test("may be just as many files as are read, and one of just as many bytes", async () => {
    const { custom, put, logger } = begin();
    for (let file = 10; file < 59; file += 1) put(`${file}.prom`, `f${file} 1\n`);
    const path = put("last.prom", "last 1\n".padEnd(65_536, "\n"));
    expect(Object.keys(await custom.collect(never))).toHaveLength(50);
    expect(logger.lines).toEqual([]);
    put("last.prom", "last 1\n".padEnd(65_537, "\n"));
    expect(Object.keys(await custom.collect(never))).toHaveLength(49);
    expect(logger.lines.map(({ fields }) => fields?.["path"])).toEqual([path]);
    put("z.prom", "z 1\n");
    expect(await custom.collect(never)).not.toHaveProperty(["custom.z"]);
    expect(logger.lines.at(-1)?.fields).toMatchObject({ reason: "It has more than 50 files." });
  });

  test("is nothing that is told of as a fault where the agent ends while its program runs", async () => {
    const { custom, put, logger, folder } = begin();
    put("slow", program(`touch ${folder}/.begun; exec sleep 60`), 0o755);
    const collecting = custom.collect(never);
    await expect.poll(() => fs.existsSync(join(folder, ".begun"))).toBe(true);
    custom.stop();
    expect([await collecting, logger.lines]).toEqual([{}, []]);
  });

  test("gives each series once: the file whose name sorts later wins, and the log says so of the other", async () => {
    const { custom, put, logger } = begin();
    const path = put("a.prom", "jobs 1\nown 1\n");
    put("b.prom", "jobs 2\nother 2\n");
    const expected = { "custom.jobs": 2, "custom.own": 1, "custom.other": 2 };
    for (let look = 0; look < 2; look++) expect(await custom.collect(never)).toEqual(expected);
    expect(logger.of("warn")).toHaveLength(1);
    expect(logger.lines.at(-1)?.fields).toMatchObject({ path });
  });

  test("is told again where a folder or an entry was as it should be in between", async () => {
    const { custom, put, folder, logger } = begin();
    const path = put("good.prom", "good 1\n");
    for (const place of [folder, path])
      for (let times = 1; times <= 2; times += 1) {
        const mode = place === folder ? 0o755 : 0o644;
        chmodSync(place, mode | 0o002);
        for (let look = 0; look < 2; look++) expect(await custom.collect(never)).toEqual({});
        chmodSync(place, mode);
        expect(await custom.collect(never)).toEqual({ "custom.good": 1 });
        const told = logger.lines.filter(({ fields }) => fields?.["path"] === place);
        expect(told, `${place}, time ${times}`).toHaveLength(times);
      }
  });

  test("is told again where an entry, or all of the folder, was gone in between", async () => {
    const { custom, put, folder, logger } = begin();
    const told: number[] = [];
    for (const gone of [join(folder, "bad.prom"), folder, folder]) {
      mkdirSync(folder, { recursive: true });
      put("bad.prom", "what is this?\n");
      for (let look = 0; look < 2; look++) await custom.collect(never);
      told.push(logger.lines.length);
      rmSync(gone, { recursive: true });
      await custom.collect(never);
    }
    expect(told).toEqual([1, 2, 3]);
  });

  test("follows no link", async () => {
    const { custom, put, folder } = begin();
    const path = put("real.prom", "real 1\n");
    symlinkSync(path, join(folder, "link.prom"));
    symlinkSync("/bin/true", join(folder, "program"));
    expect(await custom.collect(never)).toEqual({ "custom.real": 1 });
  });

  test.each<[what: string, body: string, reason: RegExp]>([
    ["fails", "echo x 1; exit 3", /ended with 3/],
    ["prints more than is taken", "yes 'x 1' | head -c 100000", /printed more/],
    ["can't be run", "", /could not be run|ended with/],
    ["prints no metrics", "echo what is this", /1 of its lines/],
  ])("is left out where a program %s, said once, and the others are there", async (_what, body, reason) => {
    const { custom, put, logger } = begin();
    put("a.prom", "good 1\n");
    put("program", body === "" ? "#!/nowhere/sh\n" : program(body), 0o755);
    for (let look = 0; look < 2; look++) expect(await custom.collect(never)).toEqual({ "custom.good": 1 });
    const lines = logger.lines.filter(({ level }) => level === "warn");
    expect(lines).toHaveLength(1);
    expect(lines[0]?.fields?.["reason"]).toMatch(reason);
  });

  test("is not waited for where a program hangs, and one that runs is not begun beside itself", async () => {
    const { custom, put, folder } = begin();
    put("a.prom", "good 1\n");
    put("hangs", program(`echo began >> ${join(folder, ".began")}; exec sleep 60`), 0o755);
    const late = Promise.resolve(null);
    for (let look = 0; look < 3; look++) expect(await custom.collect(late)).toEqual({ "custom.good": 1 });
    custom.stop();
  });

  test("is told once as left out where a program ends too late for its sample, until it is in time again", async () => {
    const { custom, logger, put } = begin();
    const path = put("slow", program("sleep 0.2; echo slow 1"), 0o755);
    const tooLate = Promise.resolve(null);
    const reasons = () => logger.lines.map(({ fields }) => [fields?.["path"], fields?.["reason"]]);
    const told = [path, "It took longer than half of the time from one sample to the next."];
    expect(await custom.collect(tooLate)).toEqual({});
    await expect.poll(reasons, { timeout: 30_000 }).toEqual([told]);
    expect(await custom.collect(never)).toEqual({ "custom.slow": 1 });
    expect(await custom.collect(tooLate)).toEqual({});
    await expect.poll(reasons, { timeout: 30_000 }).toEqual([told, told]);
  });

  test("is left out where it can't be looked at, and the rest is there", async () => {
    const { custom, put, logger } = begin();
    put("a.prom", "good 1\n");
    const hidden = put("hidden.prom", "hidden 1\n");
    const { lstatSync } = fs;
    const refusing = (path: fs.PathLike, ...more: []): unknown => {
      if (path === hidden) throw Object.assign(new Error("EACCES"), { code: "EACCES" });
      return lstatSync(path, ...more);
    };
    Object.assign(fs, { lstatSync: refusing });
    syncBuiltinESMExports();
    try {
      expect(await custom.collect(never)).toEqual({ "custom.good": 1 });
    } finally {
      Object.assign(fs, { lstatSync });
      syncBuiltinESMExports();
    }
    expect(logger.of("warn")).toHaveLength(1);
  });

  test("is left out where a file is too large", async () => {
    const { custom, put } = begin();
    put("large.prom", `large 1\n#${"x".repeat(70_000)}`);
    put("executable.prom", `executable 1\n#${"x".repeat(70_000)}`, 0o755);
    expect(await custom.collect(never)).toEqual({});
  });
});
