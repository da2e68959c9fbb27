/** strace counts what a plan and a drift check write: nothing. Linux with strace; skipped elsewhere. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { buildProgram, hasStrace, runUnderStrace } from "../support/strace.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

/** Every call that changes a file system, by its name or its flags. */
const changing =
  /^(?:write|writev|pwrite64|pwritev2?|sendfile|copy_file_range|rename(?:at2?)?|unlink(?:at)?|mkdir(?:at)?|rmdir|link(?:at)?|symlink(?:at)?|mknod(?:at)?|f?chmod(?:at2?)?|[fl]?chown|fchownat|f?truncate|fallocate|utimensat|f?setxattr|f?sync|fdatasync|syncfs)$/;
const opens = /^(?:open|openat|openat2|creat)$/;
const opensToWrite = /O_(?:WRONLY|RDWR|CREAT|TRUNC|APPEND)/;

if (!hasStrace) console.log("Skipped: that a plan writes nothing, for lack of strace.");

test.skipIf(!hasStrace)(
  "a plan and a drift check make no system call that changes a file",
  { timeout: 120_000 },
  async () => {
    const source = new URL("../support/planning-process.ts", import.meta.url);
    const program = await buildProgram(source, temporaryFolder());
    const output = join(temporaryFolder(), "calls");
    const run = await runUnderStrace(["-y", "-o", output], [program, temporaryFolder()]);
    expect(run.stderr).toBe("");
    expect(run.stdout).toContain("end apply succeeded");
    const calls = readFileSync(output, "utf8");
    expect(changesBetween(calls, "plan")).toEqual([]);
    expect(changesBetween(calls, "check")).toEqual([]);
    // What is found nowhere else is found here, so that the two above mean something.
    const names = changesBetween(calls, "apply").map((call) => call.split("(")[0]);
    expect(names).toEqual(
      expect.arrayContaining(["openat", "write", "rename", "unlink", "mkdir", "symlink"]),
    );
  },
);

/** The calls between the marks of a step that change a file; not those between the threads of the process. */
function changesBetween(text: string, step: string): string[] {
  const lines = text.split("\n");
  const begin = lines.findIndex((line) => line.includes(`"begin ${step}\\n"`));
  const end = lines.findIndex((line) => line.includes(`"end ${step} `));
  expect(begin).toBeGreaterThan(0);
  expect(end).toBeGreaterThan(begin);
  return lines.slice(begin + 1, end).flatMap((line) => {
    const [, call = "", name = ""] = /^\d+ +((\w+)\(.*)/.exec(line) ?? [];
    if (/^\w+\(\d+<(?:anon_inode|pipe|socket):/.test(call)) return [];
    const changes = changing.test(name) || (opens.test(name) && opensToWrite.test(call));
    return changes ? [call] : [];
  });
}
