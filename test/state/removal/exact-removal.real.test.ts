/** Whatever stood at a path stands there again when the resource is gone, to the byte and the bit. */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { describeOnRealMachine } from "../../support/machine/real-machine.ts";
import { RealState } from "../../support/machine/real-state.ts";
import { treeSnapshot } from "../../support/machine/tree-snapshot.ts";
import { foretold, told } from "../../support/plan-and-apply.ts";
import { removalRows, type Sources } from "./removal-rows.ts";
import { startingStates } from "./starting-states.ts";

const folder = mkdtempSync(join(tmpdir(), "fleetwright-removal-"));
const download = Buffer.from("from a server\n");
const server = createServer((_request, response) => response.end(download));
const sources: Sources = {
  archive: `${folder}/a.tar`,
  repository: `${folder}/repository`,
  url: "",
  sha256: createHash("sha256").update(download).digest("hex"),
};

beforeAll(async () => {
  mkdirSync(`${folder}/packed/sub`, { recursive: true });
  writeFileSync(`${folder}/packed/sub/tool`, "tool", { mode: 0o755 });
  execFileSync("tar", ["-cf", sources.archive, "-C", `${folder}/packed`, "."]);
  const git = (...args: string[]): unknown =>
    execFileSync("git", ["-C", sources.repository, "-c", "user.name=t", "-c", "user.email=t@t", ...args]);
  mkdirSync(sources.repository);
  git("init", "--quiet");
  writeFileSync(`${sources.repository}/file`, "in git");
  git("add", ".");
  git("commit", "--quiet", "-m", "one");
  git("tag", "v1");
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  sources.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/file`;
});
afterAll(() => {
  server.close();
  rmSync(folder, { recursive: true });
});

const names = ["plain", "-dash", "two words", "line\nbreak", ".ünïcode \u{1f600}"];

describeOnRealMachine("removing gives back what stood", { programs: ["git", "tar", "python3"] }, () => {
  for (const row of Object.keys(removalRows("/", sources))) {
    describe(row, () => {
      test.each(Object.keys(startingStates))("over %s", async (start) => {
        const name = names[Object.keys(startingStates).indexOf(start) % names.length] ?? "";
        const { before, after } = await tryRow(row, start, name);
        expect(after).toEqual(before);
      });
    });
  }
  test.each(names)("a name like %j", async (name) => {
    for (const row of Object.keys(removalRows("/", sources))) {
      const { before, after } = await tryRow(row, "a text", name);
      expect(after, row).toEqual(before);
    }
  });
});

/** Applies both versions over a starting state and takes them away: what stood before and after. */
async function tryRow(
  row: string,
  start: string,
  name: string,
): Promise<{ before: string[]; after: string[] }> {
  const work = mkdtempSync(join(folder, "work-"));
  const path = `${work}/${name}`;
  startingStates[start]?.(path);
  using state = new RealState();
  const { first = {}, second = {} } = removalRows(path, sources)[row] ?? {};
  const before = treeSnapshot(work);
  for (const wanted of [[first], [first], [second], [second]]) {
    const plan = await state.run("plan", wanted);
    const done = await state.run("apply", wanted);
    // Whose folders git accepts is a matter of its own settings: no plan can tell.
    const isGitsOwn = row === "git" && done.results[0]?.message?.includes("dubious ownership") === true;
    if (!isGitsOwn) expect(told(done), "the apply does what the plan said").toEqual(foretold(plan, done));
    const again = await state.run("plan", wanted);
    if (done.status === "succeeded") expect(again.results[0]?.outcome, "applied again").toBe("unchanged");
  }
  const plan = await state.run("plan", []);
  const removal = await state.run("apply", []);
  expect(told(removal), "the removal does what its plan said").toEqual(foretold(plan, removal));
  expect(removal.results.filter(({ outcome }) => outcome === "failed")).toEqual([]);
  return { before, after: treeSnapshot(work) };
}
