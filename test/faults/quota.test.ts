/** A quota that is used up, which Node has no name for: strace has the kernel report it. Linux with strace; skipped elsewhere. */
import { constants } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { guarded } from "../../lib/agent/durable-file.ts";
import { toHostError } from "../../lib/host/host-error.ts";
import { buildProgram, hasStrace, runUnderStrace } from "../support/strace.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

if (!hasStrace) console.log("Skipped: a server whose quota is used up, for lack of strace.");

test.skipIf(!hasStrace)(
  "refuses changes as a full disk does, and writing goes on when there is space",
  { timeout: 120_000 },
  async () => {
    const source = new URL("../support/quota-commits.ts", import.meta.url);
    const program = await buildProgram(source, temporaryFolder());
    // Counted in each thread: a commit is written by the main one where the disk is quick, else by the one that writes blobs.
    const used = ["-e", "trace=pwrite64", "-e", "inject=pwrite64:error=EDQUOT:when=20..27"];
    const folder = join(temporaryFolder(), "data");
    const { stdout } = await runUnderStrace(["-o", "/dev/null", ...used], [program, folder]);
    const steps = stdout.trim().split("\n");
    expect(steps.length).toBeLessThan(2_000);
    expect(steps).toContainEqual(expect.stringContaining("commit: STORAGE_FULL"));
    expect(steps).toContainEqual(expect.stringContaining("blob: STORAGE_FULL"));
    expect(stdout).not.toContain("STORAGE_FAILED");
    expect(steps.slice(-4)).toEqual(["commit: done", "blob: done", "commit: done", "blob: done"]);
  },
);

describe("is named by its number", () => {
  // What Node throws: libuv knows no quota.
  const used = Object.assign(new Error("UNKNOWN: unknown error, write"), {
    code: "UNKNOWN",
    errno: -constants.errno.EDQUOT,
  });

  test("for a file of a machine", () => {
    expect(toHostError("/srv/x", used)).toMatchObject({
      message: "disk quota used up: /srv/x",
      details: { errno: "EDQUOT" },
    });
  });

  test("for a file of the agent's own", () => {
    const write = (): never => {
      throw used;
    };
    expect(() => guarded("/state/x", write)).toThrow(expect.objectContaining({ code: "STORAGE_FULL" }));
  });
});
