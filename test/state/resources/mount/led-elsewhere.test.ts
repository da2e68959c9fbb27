/** The folder of a mount moves, and a link takes its place: the line of /etc/fstab goes on naming the path that was declared. */
import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../../lib/json.ts";
import { memoryMachine } from "../../../support/machine/memory-machine.ts";
import { declare, StateFixture } from "../../../support/state-fixture.ts";

const disk = "/dev/sda1 / ext4 defaults 0 1\n";
const older = "tmpfs /work/a/cache tmpfs size=1m 0 0\n";

const wanted = (path: string, ensure: string): JsonObject => ({
  id: "m",
  type: "mount",
  path,
  device: "tmpfs",
  fstype: "tmpfs",
  ensure,
});

function machine(table: string): StateFixture {
  const state = new StateFixture(memoryMachine());
  for (const path of ["/work/a", "/work/a/cache"]) state.host.files.makeDirectory(path, {});
  state.write("/etc/fstab", table);
  return state;
}

function move({ host: { files } }: StateFixture): void {
  files.removeDirectory("/work/a/cache");
  files.removeDirectory("/work/a");
  for (const path of ["/work/b", "/work/b/cache"]) files.makeDirectory(path, {});
  files.makeSymlink("/work/a", "b");
}

/** Unmounts what is in the folder, as who moves that must. */
async function unmount({ host }: StateFixture, ensure: string): Promise<void> {
  if (ensure !== "mounted") return;
  await host.run({ argv: ["umount", "/work/a/cache"] }, AbortSignal.timeout(60_000));
}

async function succeed(state: StateFixture, desired: JsonObject[]): Promise<void> {
  const plan = await state.run("plan", declare(desired));
  const { status, results } = await state.run("apply", declare(desired));
  expect({ status, results }).toMatchObject({ status: "succeeded" });
  expect(plan.results.map(({ action, changes }) => ({ action, changes }))).toEqual(
    results.map(({ action, changes }) => ({ action, changes })),
  );
  const again = await state.run("plan", declare(desired));
  expect(again.results.filter(({ outcome }) => outcome !== "unchanged")).toEqual([]);
}

const mounted = (state: StateFixture): string[] =>
  state
    .read("/proc/self/mountinfo")
    .split("\n")
    .map((line) => line.split(" ")[4] ?? "")
    .filter((path) => path.startsWith("/work"));

describe.each([
  ["none", disk],
  ["another line", older + disk],
])("%s stood before", (_, table) => {
  describe.each(["present", "mounted", "unmounted"])("a mount that is to be %s", (ensure) => {
    test("goes with the line of its path", async () => {
      const state = machine(table);
      await succeed(state, [wanted("/work/a/cache", ensure)]);
      await unmount(state, ensure);
      move(state);
      await succeed(state, []);
      expect(state.read("/etc/fstab")).toBe(table);
      expect(state.applied).toEqual([]);
    });

    test("keeps its line while it is declared by the old path, and gives it up for the new one", async () => {
      const state = machine(table);
      await succeed(state, [wanted("/work/a/cache", ensure)]);
      const line = state.read("/etc/fstab");
      await unmount(state, ensure);
      move(state);
      const refused = await state.run("apply", declare([wanted("/work/a/cache", ensure)]));
      expect(refused.results).toMatchObject([{ resource_id: "m", outcome: "failed", code: "HOST_ERROR" }]);
      expect(state.read("/etc/fstab")).toBe(line);
      await succeed(state, [wanted("/work/b/cache", ensure)]);
      expect(state.read("/etc/fstab")).toBe(`${table}tmpfs /work/b/cache tmpfs defaults 0 0\n`);
      expect(mounted(state)).toEqual(ensure === "mounted" ? ["/work/b/cache"] : []);
      await succeed(state, []);
      expect(state.read("/etc/fstab")).toBe(table);
      expect(mounted(state)).toEqual([]);
    });
  });
});
