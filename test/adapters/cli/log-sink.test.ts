/** The log of a process on what can't take it: a full disk, a reader that has stopped. */
import { execFileSync } from "node:child_process";
import { closeSync, constants, openSync, readFileSync, readSync, rmSync, writeFileSync } from "node:fs";
import { constants as system } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { LogSink, toFile } from "../../../adapters/cli/log-sink.ts";
import { reasonNotToMount } from "../../support/mounts.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";
import { waitFor } from "../../support/wait-for.ts";

const { O_NONBLOCK, O_RDWR } = constants;

const noMount = reasonNotToMount();
if (noMount !== null) console.info(`The test of a full file system is skipped: ${noMount}`);

/** Both ends of a pipe that blocks nobody. */
function openPipe(): number {
  const path = join(temporaryFolder(), "pipe");
  execFileSync("mkfifo", [path]);
  const fd = openSync(path, O_RDWR | O_NONBLOCK);
  onTestFinished(() => closeSync(fd));
  return fd;
}

function readAll(fd: number): string {
  const pieces: Buffer[] = [];
  for (;;) {
    const piece = Buffer.alloc(65_536);
    try {
      pieces.push(piece.subarray(0, readSync(fd, piece)));
    } catch {
      return Buffer.concat(pieces).toString();
    }
  }
}

/** What takes pieces when it is told to. */
function heldOutput() {
  const open: (() => void)[] = [];
  let text = "";
  const sink = new LogSink(() => (bytes, done) => {
    open.push(() => {
      text += Buffer.from(bytes).toString();
      done(null, bytes.length);
    });
  });
  const take = (): void => open.splice(0).forEach((each) => each());
  return { sink, take, written: () => text };
}

describe("the log of a process", () => {
  it("is written in its order", async () => {
    const fd = openPipe();
    const sink = new LogSink(() => toFile(fd));
    for (let n = 0; n < 100; n++) sink.write(`line ${n}\n`);
    let text = "";
    await waitFor(() => expect((text += readAll(fd))).toContain("line 99\n"));
    expect(text).toBe(Array.from({ length: 100 }, (_, n) => `line ${n}\n`).join(""));
    expect(sink.fault()).toBeNull();
  });

  it("is lost on a full disk, says why meanwhile, and nothing is thrown", async () => {
    const fd = openSync("/dev/full", "w");
    onTestFinished(() => closeSync(fd));
    const output = toFile(fd);
    let writing = 0;
    const sink = new LogSink(() => (bytes, done) => {
      writing += 1;
      output(bytes, (error, written) => {
        writing -= 1;
        done(error, written);
      });
    });
    sink.write("a\n");
    await waitFor(() => expect(sink.fault()).toBe("ENOSPC"));
    sink.write("b\n");
    // Once it is closed its number may be another file's, which a write that is still under way would reach.
    await waitFor(() => expect(writing).toBe(0));
  });

  it("names a used up quota, which Node has no name for", () => {
    const used = Object.assign(new Error("write"), { code: "UNKNOWN", errno: -system.errno.EDQUOT });
    const sink = new LogSink(() => (_bytes, done) => done(used, 0));
    sink.write("a\n");
    expect(sink.fault()).toBe("EDQUOT");
  });

  it("may be as long as it likes, as long as it is taken", () => {
    const { sink, take, written } = heldOutput();
    const line = `${"x".repeat(99_999)}\n`;
    for (let n = 0; n < 50; n++) {
      sink.write(line);
      take();
      expect(sink.fault()).toBeNull();
    }
    // Two at a time: the second waits for the first.
    for (let n = 0; n < 50; n++) {
      sink.write(line);
      sink.write(line);
      take();
      take();
      expect(sink.fault()).toBeNull();
    }
    expect(written()).toBe(line.repeat(150));
  });

  it("says that lines are lost until it has told how many, whatever is written meanwhile", () => {
    const { sink, take, written } = heldOutput();
    sink.write("first\n");
    sink.write(`${"x".repeat(1_048_575)}\n`);
    sink.write("lost\n");
    expect(sink.fault()).toBe("EAGAIN");
    take();
    // The first is out, and the loss is not told yet.
    expect(sink.fault()).toBe("EAGAIN");
    sink.write("last\n");
    take();
    expect(sink.fault()).toBeNull();
    take();
    const [first, loss, long, last] = written().split("\n");
    expect([first, long?.length, last]).toEqual(["first", 1_048_575, "last"]);
    expect(JSON.parse(loss!)).toMatchObject({ lines: 1, reason: "EAGAIN" });
  });

  it("waits for a slow reader within bounds, goes on when it reads again, and says how much is missing", async () => {
    const fd = openPipe();
    const sink = new LogSink(() => toFile(fd));
    const filler = "x".repeat(999);
    const written = 3000;
    for (let n = 0; n < written; n++) sink.write(`${filler}\n`);
    await waitFor(() => expect(sink.fault()).toBe("EAGAIN"));
    let text = "";
    const reader = setInterval(() => (text += readAll(fd)), 1);
    onTestFinished(() => clearInterval(reader));
    await vi.waitFor(() => expect(text.length).toBeGreaterThan(900_000), { timeout: 30_000 });
    sink.write("after\n");
    await vi.waitFor(() => expect(text.endsWith("after\n")).toBe(true), { timeout: 30_000 });
    const lines = text.trimEnd().split("\n");
    const told = lines.filter((line) => line !== filler).slice(0, -1);
    expect(told).toHaveLength(1);
    const loss = JSON.parse(told[0] ?? "{}") as { lines: number; msg: string };
    expect(loss.msg).toBe("Lines of the log were lost.");
    expect(lines.filter((line) => line === filler).length + loss.lines).toBe(written);
    expect(loss.lines).toBeGreaterThan(1000);
    expect(sink.fault()).toBeNull();
  });
});

describe.skipIf(noMount !== null)("on a file system that is really full", () => {
  it("goes on when there is space again, on a line of its own, and says how much is missing", async () => {
    const mount = temporaryFolder();
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=16k", "tmpfs", mount]);
    const fd = openSync(join(mount, "log"), "a");
    onTestFinished(() => {
      closeSync(fd);
      execFileSync("umount", [mount]);
    });
    writeFileSync(join(mount, "filler"), Buffer.alloc(4096));
    const sink = new LogSink(() => toFile(fd));
    sink.write(`${"z".repeat(20_000)}\n`);
    await waitFor(() => expect(sink.fault()).toBe("ENOSPC"));
    rmSync(join(mount, "filler"));
    // Without another line: to be asked is enough.
    await vi.waitFor(() => expect(sink.fault()).toBeNull(), { timeout: 30_000 });
    sink.write("after\n");
    await waitFor(() => expect(readFileSync(join(mount, "log"), "utf8")).toContain("after\n"));
    const lines = readFileSync(join(mount, "log"), "utf8").split("\n");
    expect(
      lines.map((line) => (line.startsWith("{") ? JSON.parse(line) : line.slice(0, 5)) as unknown),
    ).toEqual([
      "zzzzz",
      {
        level: "warn",
        time: expect.any(String) as string,
        lines: 1,
        reason: "ENOSPC",
        msg: "Lines of the log were lost.",
      },
      "after",
      "",
    ]);
  });
});
