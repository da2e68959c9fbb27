/** What whoever owns a folder can do between two calls of ours: nothing of others is read, changed or taken away by it. */
import {
  chmodSync,
  chownSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { LocalHost } from "../../../lib/host/local-host.ts";
import { runState, type StateRunResult } from "../../../lib/state/run/engine.ts";
import { FakeClock } from "../../../lib/testing/fake-clock.ts";
import { raceBefore, type RacedCall } from "../../support/racing-host.ts";
import { declare } from "../../support/state-fixture.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

type Definition = Parameters<typeof declare>[0][number];

/** Applies one resource to a machine in `base`, where somebody acts before the first call of this name. */
async function applyRacing(
  base: string,
  definition: Definition,
  race: { before: RacedCall; act: () => void },
): Promise<StateRunResult> {
  const local = new LocalHost({ root: base, stateFolder: join(base, "state") });
  const { host, hasRaced } = raceBefore(local, race.before, race.act);
  const result = await runState({
    mode: "apply",
    desired: declare([{ id: "r", ...definition }]),
    applied: [],
    host,
    clock: new FakeClock(),
    signal: new AbortController().signal,
    timeoutMs: 60_000,
  });
  expect(hasRaced()).toBe(true);
  return result;
}

const key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGZsZWV0d3JpZ2h0";
/** Of the user; the secret belongs to root, and nobody else can say whose a file is. */
const uid = 12_345;
const isRoot = process.getuid?.() === 0;

function prepareKeys(): { base: string; keys: string; secret: string; swap: () => void } {
  const base = temporaryFolder();
  const keys = join(base, "home/deploy/.ssh/authorized_keys");
  const secret = join(base, "secret");
  mkdirSync(join(base, "etc"));
  writeFileSync(join(base, "etc/passwd"), `deploy:x:${uid}:${uid}::/home/deploy:/bin/sh\n`);
  mkdirSync(join(base, "home/deploy/.ssh"), { recursive: true, mode: 0o700 });
  writeFileSync(keys, "# mine\n", { mode: 0o600 });
  for (const path of [join(base, "home/deploy"), join(base, "home/deploy/.ssh"), keys])
    chownSync(path, uid, uid);
  writeFileSync(secret, "root:secret\n");
  chmodSync(secret, 0o640);
  const swap = (): void => {
    unlinkSync(keys);
    linkSync(secret, keys);
  };
  return { base, keys, secret, swap };
}

function prepareFolder(): { base: string; swap: () => void } {
  const base = temporaryFolder();
  for (const name of ["folder/sub", "elsewhere"]) mkdirSync(join(base, name), { recursive: true });
  for (const name of ["folder/sub", "elsewhere"]) writeFileSync(join(base, name, "deep"), name);
  const swap = (): void => {
    renameSync(join(base, "folder/sub"), join(base, "folder/moved"));
    symlinkSync("../elsewhere", join(base, "folder/sub"));
  };
  return { base, swap };
}

describe.runIf(isRoot)("an authorized_key of a user (needs root)", () => {
  const definition = { type: "authorized_key", user: "deploy", key };

  // Read by the check, to note what stood before, and to be changed.
  test.each([1, 2, 3])(
    "shows nothing of a file of which they make a hard link between a look and read %i",
    async (nth) => {
      const { base, keys, secret, swap } = prepareKeys();
      const { results } = await applyRacing(base, definition, {
        before: { name: "readFile", path: "authorized_keys", nth },
        act: swap,
      });
      expect(results).toMatchObject([{ outcome: "failed", code: "HOST_ERROR" }]);
      expect(JSON.stringify(results)).not.toContain("secret\\n");
      expect(JSON.stringify(results)).not.toContain("root:");
      expect(readFileSync(secret, "utf8")).toBe("root:secret\n");
      // Still that other name, and no new file of the user with what was read.
      expect(statSync(keys)).toMatchObject({ uid: 0, nlink: 2 });
      expect(statSync(secret).mode & 0o777).toBe(0o640);
    },
  );

  test("changes nothing of a file of which they make a hard link between the read and the write", async () => {
    const { base, keys, secret, swap } = prepareKeys();
    const { results } = await applyRacing(base, definition, { before: { name: "writeFile" }, act: swap });
    expect(results).toMatchObject([{ outcome: "changed" }]);
    expect(readFileSync(secret, "utf8")).toBe("root:secret\n");
    expect(statSync(secret)).toMatchObject({ nlink: 1 });
    expect(statSync(secret).mode & 0o777).toBe(0o640);
    expect(readFileSync(keys, "utf8")).toBe(`# mine\n${key}\n`);
  });
});

describe.runIf(process.platform === "linux")("a purge of a folder that somebody else may write to", () => {
  test.each([
    // What can't be kept is looked at anew: the link goes then, not what it leads to.
    ["save", "changed"],
    ["removeFile", "failed"],
    ["removeDirectory", "failed"],
  ])("takes nothing away elsewhere where a folder in it becomes a link before %s", async (name, outcome) => {
    const { base, swap } = prepareFolder();
    const definition = { type: "directory", path: "/folder", purge: true };
    const { results } = await applyRacing(base, definition, { before: { name }, act: swap });
    expect(results).toMatchObject([{ outcome }]);
    expect(readdirSync(join(base, "elsewhere"))).toEqual(["deep"]);
    expect(readFileSync(join(base, "elsewhere/deep"), "utf8")).toBe("elsewhere");
    const kept = readdirSync(join(base, "state/backups"));
    expect(kept.map((name) => readFileSync(join(base, "state/backups", name), "utf8"))).not.toContain(
      "elsewhere",
    );
  });
});
