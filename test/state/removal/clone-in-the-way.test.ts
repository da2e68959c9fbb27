/** A clone that took the place of a file goes before the file comes back: with the patience and the care of any clone. */
import { expect, test } from "vitest";
import type { HostFiles } from "../../../lib/host/host.ts";
import { FakeClock } from "../../../lib/testing/fake-clock.ts";
import { repositoryUrl, wholeMachine } from "../../support/machine/whole-machine.ts";
import { declare, outcomes, StateFixture } from "../../support/state-fixture.ts";

const path = "/w/t";
const timeout_seconds = 60;
const clone = { id: "r", type: "git", path, repository: repositoryUrl, timeout_seconds };
const scope = ["a"];

function empty(files: HostFiles, folder: string): void {
  for (const name of files.list(folder)) {
    const each = `${folder}/${name}`;
    if (files.stat(each)?.kind !== "directory") files.removeFile(each);
    else {
      empty(files, each);
      files.removeDirectory(each);
    }
  }
}

/** A machine on which a file was taken away for a clone. */
async function machine(clock: FakeClock): Promise<StateFixture> {
  const state = new StateFixture(wholeMachine(), clock);
  state.host.files.makeDirectory("/w", { mode: 0o755 });
  state.write(path, "theirs");
  for (const definition of [{ id: "r", type: "file", path, ensure: "absent" }, clone])
    expect(outcomes(await state.run("apply", declare([definition], "a"), { scope }))).toEqual(["r changed"]);
  return state;
}

test("what another module has in it stays, and nothing else does", async () => {
  const state = await machine(new FakeClock());
  const other = declare([{ id: "f", type: "file", path: `${path}/other`, content: "x" }], "b");
  await state.run("apply", other, { scope: ["b"] });
  const { results } = await state.run("apply", [], { scope });
  expect(results).toMatchObject([
    { outcome: "failed", message: `${path} is a folder, which is left alone.` },
  ]);
  expect(state.host.files.list(path)).toEqual(["other"]);
  await state.run("apply", [], { scope: ["b"] });
  await state.run("apply", [], { scope });
  expect([state.applied, state.host.files.stat(path)?.kind]).toEqual([[], "file"]);
  expect(state.read(path)).toBe("theirs");
});

test("a look at it that gets no answer has an end", async () => {
  const clock = new FakeClock();
  const state = await machine(clock);
  const run = state.host.run.bind(state.host);
  let asked = 0;
  state.host.run = (command, signal) => {
    asked += 1;
    if (asked > 1) return run(command, signal);
    return new Promise((_resolve, reject) =>
      signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true }),
    );
  };
  let isOver = false;
  const running = state.run("apply", [], { scope, timeoutMs: 3_600_000 });
  void running.then(() => (isOver = true));
  await clock.advance(timeout_seconds * 1000 - 1);
  expect([asked, isOver]).toEqual([1, false]);
  await clock.advance(1);
  expect(isOver).toBe(true);
  expect(outcomes(await running)).toEqual(["r changed"]);
  expect(state.read(path)).toBe("theirs");
});

test("what somebody put there after they emptied the clone stays, where a folder was before", async () => {
  const state = new StateFixture(wholeMachine());
  const { files } = state.host;
  files.makeDirectory("/w", { mode: 0o755 });
  files.makeDirectory(path, { mode: 0o755 });
  for (const definition of [{ id: "r", type: "directory", path, mode: "0700" }, clone])
    expect(outcomes(await state.run("apply", declare([definition], "a"), { scope }))).toEqual(["r changed"]);
  empty(files, path);
  state.write(`${path}/mine`, "x");
  files.setAttributes(path, { mode: 0o711 });
  await state.run("apply", [], { scope });
  expect([files.list(path), files.stat(path)?.mode]).toEqual([["mine"], 0o755]);
});
