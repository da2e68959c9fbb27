/** Who declares ~/.ssh or authorized_keys keeps it when the key goes that it was made for, and nothing more than that. */
import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../lib/json.ts";
import type { ResolvedResource } from "../../../lib/state/resource.ts";
import { wholeMachine } from "../../support/machine/whole-machine.ts";
import { declare, StateFixture } from "../../support/state-fixture.ts";

const [folder, file] = ["/root/.ssh", "/root/.ssh/authorized_keys"] as const;
const key = (letter: string): JsonObject => ({
  id: letter,
  type: "authorized_key",
  user: "root",
  key: `ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI${letter.repeat(39)}`,
});

const rows: Record<string, { theirs: JsonObject; left: string[] }> = {
  "nothing that stays": { theirs: { id: "o", type: "directory", path: "/work/o" }, left: [] },
  "the folder": { theirs: { id: "o", type: "directory", path: folder, mode: "0700" }, left: [folder] },
  "the file": { theirs: { id: "o", type: "file", path: file, mode: "0600" }, left: [folder, file] },
  "a file beside it": {
    theirs: { id: "o", type: "file", path: `${folder}/config`, content: "x" },
    left: [folder, `${folder}/config`],
  },
  "another key": { theirs: key("B"), left: [folder, file] },
};

const standing = ({ host: { files } }: StateFixture): string[] =>
  [folder, file, `${folder}/config`].filter((path) => files.stat(path) !== null);

async function apply(state: StateFixture, mine: ResolvedResource[], others: ResolvedResource[]) {
  const desired = [...mine, ...others];
  const { status, results } = await state.run("apply", desired);
  expect({ status, results }).toMatchObject({ status: "succeeded" });
  const other = results.find(({ module }) => module === "others");
  const again = await state.run("plan", desired);
  expect(again.results.filter(({ outcome }) => outcome !== "unchanged")).toEqual([]);
  return other?.outcome;
}

describe.each(Object.entries(rows))("a key beside one who declares %s", (_what, { theirs, left }) => {
  test("goes with what was made for it alone, and then the other", async () => {
    const state = new StateFixture(wholeMachine());
    const [mine, others] = [declare([key("A")], "mine"), declare([theirs], "others")];
    await apply(state, mine, []);
    await apply(state, mine, others);
    for (let times = 0; times < 2; times += 1) {
      expect(await apply(state, [], others)).toBe("unchanged");
      expect(standing(state)).toEqual(left);
      expect(await apply(state, mine, others)).toBe("unchanged");
      expect(state.read(file)).toContain("AAAAA");
    }
  });
});
