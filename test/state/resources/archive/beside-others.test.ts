/** What another resource declares in the folder of an archive stays when the archive does not hold it any more. */
import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../../lib/json.ts";
import { modelArchive } from "../../../support/machine/tar.ts";
import { wholeMachine } from "../../../support/machine/whole-machine.ts";
import { declare, outcomes, StateFixture } from "../../../support/state-fixture.ts";

const archive = declare([{ id: "r", type: "archive", path: "/w/t", source: "/w/t.tar" }], "a");

function pack({ host }: StateFixture, ...names: string[]): void {
  const entries = names.map((name) => ({ name, content: `${name} of ${names.length}` }));
  host.files.writeFile("/w/t.tar", modelArchive(entries), { mode: 0o644 });
}

/** A machine with three files of the archive. */
async function machine(): Promise<StateFixture> {
  const state = new StateFixture(wholeMachine());
  state.host.files.makeDirectory("/w", { mode: 0o755 });
  pack(state, "f", "g", "h");
  await state.run("apply", archive, { scope: ["a"] });
  return state;
}

const others: Record<string, JsonObject> = {
  "a file": { type: "file", path: "/w/t/g", content: "g of 3" },
  "a line": { type: "line", path: "/w/t/g", line: "g of 3" },
  "a link to the folder, and a file in it": { type: "file", path: "/w/link/g", content: "g of 3" },
};

describe.each(Object.entries(others))("an archive that does not hold what %s says", (_name, definition) => {
  test.each(["apart", "before it", "after it"])("%s any more leaves it", async (how) => {
    const state = await machine();
    state.host.files.makeSymlink("/w/link", "/w/t");
    const other = declare([{ id: "g", ...definition }], how === "before it" ? "0" : "b");
    const both = how === "before it" ? [...other, ...archive] : [...archive, ...other];
    await state.run("apply", how === "apart" ? other : both, how === "apart" ? { scope: ["b"] } : {});
    pack(state, "f");
    const run =
      how === "apart" ? await state.run("apply", archive, { scope: ["a"] }) : await state.run("apply", both);
    expect(outcomes(run)).toEqual(
      how === "apart"
        ? ["r changed"]
        : how === "after it"
          ? ["r changed", "g unchanged"]
          : ["g unchanged", "r changed"],
    );
    expect([state.read("/w/t/f"), state.read("/w/t/g")]).toEqual(["f of 1", "g of 3"]);
    expect(state.host.files.stat("/w/t/h")).toBeNull();
    const check = await state.run("check", both);
    expect(check.results.map(({ outcome }) => outcome)).toEqual(["unchanged", "unchanged"]);
    await state.run("apply", other, { scope: ["a", other[0]!.module] });
    expect([state.read("/w/t/g"), state.host.files.stat("/w/t/f")]).toEqual(["g of 3", null]);
  });
});

/** What others may want in the place of what an archive brings, with what stands there then; null = nothing. */
const overrides: [what: string, definition: JsonObject, made: (text: string) => string | null][] = [
  ["a file with other content", { type: "file", path: "/w/t/g", content: "ours" }, () => "ours"],
  ["a file by a link", { type: "file", path: "/w/link/g", content: "ours" }, () => "ours"],
  ["a file of another mode", { type: "file", path: "/w/t/g", mode: "0600", content: "ours" }, () => "ours"],
  ["a line more", { type: "line", path: "/w/t/g", line: "ours" }, (text) => `${text}\nours\n`],
  ["no file", { type: "file", path: "/w/t/g", ensure: "absent" }, () => null],
  ["a symlink", { type: "symlink", path: "/w/t/g", target: "h", force: true }, () => "h"],
];

describe.each(overrides)(
  "an archive in whose folder another resource wants %s",
  (_what, definition, made) => {
    const text = ({ host }: StateFixture): string | null => {
      const kind = host.files.stat("/w/t/g")?.kind;
      if (kind === "symlink") return host.files.readLink("/w/t/g");
      return kind === "file" ? Buffer.from(host.files.readFile("/w/t/g")).toString() : null;
    };
    const other = declare([{ id: "g", ...definition }], "b");
    const begin = async (): Promise<StateFixture> => {
      const state = await machine();
      state.host.files.makeSymlink("/w/link", "/w/t");
      return state;
    };
    const atRest = async (state: StateFixture): Promise<void> => {
      for (const mode of ["check", "plan", "apply"] as const) {
        const { results } = await state.run(mode, [...archive, ...other]);
        expect(results.map(({ outcome }) => outcome)).toEqual(["unchanged", "unchanged"]);
      }
      for (const [scope, set] of [
        ["a", archive],
        ["b", other],
      ] as const)
        expect((await state.run("apply", set, { scope: [scope] })).results[0]!.outcome).toBe("unchanged");
    };

    test("is at rest, before and after another archive", async () => {
      const state = await begin();
      expect(outcomes(await state.run("apply", [...archive, ...other]))).toEqual([
        "r unchanged",
        "g changed",
      ]);
      expect(text(state)).toBe(made("g of 3"));
      await atRest(state);
      pack(state, "f", "g", "h", "i");
      expect(outcomes(await state.run("apply", [...archive, ...other]))).toEqual([
        "r changed",
        definition["type"] === "line" ? "g changed" : "g unchanged",
      ]);
      expect([state.read("/w/t/i"), state.read("/w/t/f")]).toEqual(["i of 4", "f of 4"]);
      expect(text(state)).toBe(made("g of 4"));
      await atRest(state);
    });

    test("leaves that to it where another archive is applied alone", async () => {
      const state = await begin();
      await state.run("apply", [...archive, ...other]);
      const before = state.host.files.stat("/w/t/g");
      pack(state, "f", "g", "h", "i");
      expect(outcomes(await state.run("apply", archive, { scope: ["a"] }))).toEqual(["r changed"]);
      expect([state.read("/w/t/i"), state.read("/w/t/f")]).toEqual(["i of 4", "f of 4"]);
      const isLine = definition["type"] === "line";
      expect(text(state)).toBe(isLine ? "g of 4" : made("g of 3"));
      expect(state.host.files.stat("/w/t/g")?.mode).toBe(before?.mode);
      await state.run("apply", other, { scope: ["b"] });
      expect(text(state)).toBe(made("g of 4"));
      await atRest(state);
    });

    test("leaves that to it where it comes first", async () => {
      const state = await begin();
      const first = other.map((resource) => ({ ...resource, module: "0" }));
      await state.run("apply", [...archive, ...first]);
      await state.run("apply", [...first, ...archive]);
      pack(state, "f", "g", "h", "i");
      await state.run("apply", [...first, ...archive]);
      await state.run("apply", [...first, ...archive]);
      expect([state.read("/w/t/i"), text(state)]).toEqual(["i of 4", made("g of 4")]);
      expect(outcomes(await state.run("check", [...first, ...archive]))).toEqual([
        "g unchanged",
        "r unchanged",
      ]);
    });

    test("has what it brought there again when nobody wants that any more", async () => {
      const state = await begin();
      await state.run("apply", [...archive, ...other]);
      await state.run("apply", archive);
      expect(text(state)).toBe("g of 3");
      expect(outcomes(await state.run("apply", archive))).toEqual(["r unchanged"]);
      await state.run("apply", []);
      expect(state.host.files.stat("/w/t")).toBeNull();
    });

    test("still notices what else differs", async () => {
      const state = await begin();
      await state.run("apply", [...archive, ...other]);
      state.write("/w/t/h", "edited");
      expect(outcomes(await state.run("check", [...archive, ...other]))[0]).toBe("r would_change");
      await state.run("apply", [...archive, ...other]);
      expect([state.read("/w/t/h"), text(state)]).toEqual(["h of 3", made("g of 3")]);
      await atRest(state);
    });
  },
);

test("what an archive brought, and another resource only edits, is extracted again where it is gone", async () => {
  const state = await machine();
  const line = declare([{ id: "g", type: "line", path: "/w/t/g", line: "ours" }], "b");
  await state.run("apply", [...archive, ...line]);
  state.host.files.removeFile("/w/t/g");
  expect(outcomes(await state.run("apply", [...archive, ...line]))).toEqual(["r changed", "g changed"]);
  expect(state.read("/w/t/g")).toBe("g of 3\nours\n");
});

/** What says nothing of what the archive brought, with what may still be done to that. */
const unsaid: [what: string, definition: JsonObject, spoil: (state: StateFixture) => unknown][] = [
  [
    "the mode, and the content",
    { type: "file", path: "/w/t/g", mode: "0644" },
    (state) => state.write("/w/t/g", "edited"),
  ],
  [
    "the mode, and the owner",
    { type: "file", path: "/w/t/g", mode: "0644" },
    ({ host }) => host.files.setAttributes("/w/t/g", { uid: 33 }),
  ],
  [
    "the content, and the owner",
    { type: "file", path: "/w/t/g", content: "ours" },
    ({ host }) => host.files.setAttributes("/w/t/g", { uid: 33 }),
  ],
  [
    "a line, and the owner",
    { type: "line", path: "/w/t/g", line: "ours" },
    ({ host }) => host.files.setAttributes("/w/t/g", { uid: 33 }),
  ],
  [
    "what a script creates, and the content",
    { type: "script", run: "true", creates: "/w/t/g" },
    (state) => state.write("/w/t/g", "edited"),
  ],
];

test.each(unsaid)(
  "an archive still notices: another resource says %s changes",
  async (_what, definition, spoil) => {
    const owned = declare(
      [{ id: "r", type: "archive", path: "/w/t", source: "/w/t.tar", owner: "root" }],
      "a",
    );
    const other = declare([{ id: "g", ...definition }], "b");
    const state = await machine();
    await state.run("apply", [...owned, ...other]);
    expect(outcomes(await state.run("apply", [...owned, ...other]))).toEqual(["r unchanged", "g unchanged"]);
    const before = [state.read("/w/t/g"), state.host.files.stat("/w/t/g")!.uid];
    await spoil(state);
    expect(outcomes(await state.run("check", [...owned, ...other]))[0]).toBe("r would_change");
    await state.run("apply", [...owned, ...other]);
    expect([state.read("/w/t/g"), state.host.files.stat("/w/t/g")!.uid]).toEqual(before);
  },
);

test("an archive has what another resource took away again in the apply that lets go of that", async () => {
  const state = await machine();
  const [gone] = declare([{ id: "g", type: "file", path: "/w/t/g", ensure: "absent" }], "b");
  await state.run("apply", [...archive, { ...gone!, removal: "keep" }]);
  expect(outcomes(await state.run("plan", archive))).toEqual(["g unchanged", "r would_change"]);
  expect(outcomes(await state.run("apply", archive))).toEqual(["g unchanged", "r changed"]);
  expect(outcomes(await state.run("apply", archive))).toEqual(["r unchanged"]);
});
