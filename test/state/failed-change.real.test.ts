/** The same on this machine: a file that nobody may change, and a disk that is full or read-only. */
import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { systemClock } from "../../lib/clock.ts";
import { LocalHost } from "../../lib/host/local-host.ts";
import type { AppliedResource } from "../../lib/state/run/applied-resource.ts";
import { runState } from "../../lib/state/run/engine.ts";
import { describeOnRealMachine, output } from "../support/machine/real-machine.ts";
import { declare } from "../support/state-fixture.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const refusals: [
  what: string,
  words: string,
  refuse: (folder: string) => void,
  permit: (folder: string) => void,
][] = [
  [
    "an immutable file",
    "is immutable",
    (folder) => output("chattr", "+i", join(folder, "conf")),
    (folder) => output("chattr", "-i", join(folder, "conf")),
  ],
  [
    "a read-only file system",
    "read-only file system",
    (folder) => output("mount", "-o", "remount,ro", folder),
    (folder) => output("mount", "-o", "remount,rw", folder),
  ],
  [
    "a disk without inodes",
    "no inodes left on the disk (df -i)",
    (folder) => output("mount", "-o", "remount,nr_inodes=2", folder),
    (folder) => output("mount", "-o", "remount,nr_inodes=100", folder),
  ],
  [
    "a full disk",
    "disk full",
    // dd(1) ends with an error when the disk is full, which is what it is for here.
    (folder) => void spawnSync("dd", ["if=/dev/zero", `of=${folder}/ballast`, "bs=4096"]),
    (folder) => output("rm", join(folder, "ballast")),
  ],
];

describeOnRealMachine(
  "a change that fails before it changes anything",
  { programs: ["chattr", "mount"] },
  () => {
    test.each(refusals)(
      "because of %s: an admin's edit survives the removal",
      async (_what, words, refuse, permit) => {
        const parent = temporaryFolder();
        const folder = join(parent, "disk");
        mkdirSync(folder);
        output("mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", folder);
        onTestFinished(() => void spawnSync("umount", ["-l", folder]));
        const path = join(folder, "conf");
        writeFileSync(path, "theirs");
        const host = new LocalHost({ stateFolder: join(parent, "state") });
        const run = async (content: string | null, applied: AppliedResource[]) =>
          runState({
            mode: "apply",
            desired: content === null ? [] : declare([{ id: "f", type: "file", path, content }]),
            applied,
            host,
            clock: systemClock,
            signal: new AbortController().signal,
            timeoutMs: 60_000,
          });
        refuse(folder);
        const failed = await run("ours".repeat(50_000), []);
        expect(failed.results[0]).toMatchObject({ outcome: "failed", code: "HOST_ERROR" });
        expect(failed.results[0]?.message).toContain(words);
        expect(failed.applied).toEqual([]);
        permit(folder);
        writeFileSync(path, "an admin's");
        expect((await run(null, failed.applied)).results).toEqual([]);
        expect(readFileSync(path, "utf8")).toBe("an admin's");
        const changed = await run("ours", failed.applied);
        expect(readFileSync(path, "utf8")).toBe("ours");
        expect((await run(null, changed.applied)).results).toMatchObject([{ outcome: "changed" }]);
        expect(readFileSync(path, "utf8")).toBe("an admin's");
      },
    );
  },
);
