/** What several share and the first of them made goes with the last of them, in whichever order they come and go. */
import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../lib/json.ts";
import { memoryMachine } from "../../support/machine/memory-machine.ts";
import { declare, StateFixture } from "../../support/state-fixture.ts";

interface Row {
  /** The folder that they share. */
  folder: string;
  /** The first folder on the way to it that is not there before. */
  made: string;
  /** The one called so, and what it puts into the folder. */
  create: (id: string) => JsonObject;
  nameOf: (id: string) => string;
}

const units = "/etc/systemd/system";

const rows: Readonly<Record<string, Row>> = {
  "drop-ins of one unit": {
    folder: `${units}/site.service.d`,
    made: `${units}/site.service.d`,
    create: (id) => ({
      type: "systemd_unit",
      name: "site.service",
      drop_in: `${id}.conf`,
      content: `# ${id}`,
    }),
    nameOf: (id) => `${id}.conf`,
  },
  "folders with parents": {
    folder: "/work/one/two",
    made: "/work/one",
    create: (id) => ({ type: "directory", path: `/work/one/two/${id}`, parents: true }),
    nameOf: (id) => id,
  },
  "folders with parents, some of which are their own": {
    folder: "/work/one/two",
    made: "/work/one",
    create: (id) => ({ type: "directory", path: `/work/one/two/${id}/of its own/${id}`, parents: true }),
    nameOf: (id) => id,
  },
};

const ids = ["a", "b", "c"];
const orders = ids.flatMap((first) =>
  ids
    .filter((id) => id !== first)
    .map((second) => [first, second, ...ids.filter((id) => id !== first && id !== second)]),
);

function machine(): StateFixture {
  const state = new StateFixture(memoryMachine());
  for (const path of ["/etc/systemd", units]) state.host.files.makeDirectory(path, {});
  return state;
}

/** Takes away what stands at a path, with all that is in it. */
function take(state: StateFixture, path: string): void {
  const { files } = state.host;
  if (files.stat(path)?.kind !== "directory") return files.removeFile(path);
  for (const name of files.list(path)) take(state, `${path}/${name}`);
  files.removeDirectory(path);
}

describe.each(Object.entries(rows))("%s", (_what, { folder, made, create, nameOf }) => {
  /** Applies some of them and looks that these, and no others of ours, are there. */
  async function apply(state: StateFixture, wanted: readonly string[]): Promise<void> {
    const { status } = await state.run("apply", declare(wanted.map((id) => ({ id, ...create(id) }))));
    expect(status, wanted.join()).toBe("succeeded");
    const { files } = state.host;
    const there = files.stat(folder) ? files.list(folder) : [];
    expect(there.filter((name) => name !== "theirs").toSorted()).toEqual(wanted.map(nameOf).toSorted());
  }

  /** Applies one after the other. */
  async function come(state: StateFixture, coming: readonly string[]): Promise<void> {
    for (const at of coming.keys()) await apply(state, coming.slice(0, at + 1));
  }

  /** Takes one away after the other. */
  async function go(state: StateFixture, leaving: readonly string[]): Promise<void> {
    for (const at of leaving.keys()) await apply(state, leaving.slice(at + 1));
  }

  describe.each(orders)("that go in the order %s, %s, %s", (...leaving) => {
    test.each(orders)("and came in the order %s, %s, %s leave no folder", async (...coming) => {
      const state = machine();
      await come(state, coming);
      await go(state, leaving);
      expect(state.host.files.stat(made)).toBeNull();
    });

    test("and came all at once leave no folder", async () => {
      const state = machine();
      await apply(state, ids);
      await go(state, leaving);
      expect(state.host.files.stat(made)).toBeNull();
    });

    test("and come and go once more leave no folder", async () => {
      const state = machine();
      await come(state, ids);
      await apply(state, leaving.slice(1));
      await apply(state, ids);
      await go(state, leaving);
      expect(state.host.files.stat(made)).toBeNull();
    });

    test("leave a folder that stood before", async () => {
      const state = machine();
      if (made !== folder) state.host.files.makeDirectory(made, {});
      state.host.files.makeDirectory(folder, { mode: 0o750 });
      await come(state, ids);
      await go(state, leaving);
      expect(state.host.files.stat(folder)).toMatchObject({ kind: "directory", mode: 0o750 });
    });

    test("leave a folder in which somebody put something", async () => {
      const state = machine();
      await come(state, ids);
      state.write(`${folder}/theirs`, "x");
      await go(state, leaving);
      expect(state.host.files.list(folder)).toEqual(["theirs"]);
    });

    test("leave no folder where somebody took one of them away", async () => {
      for (const taken of ids) {
        const state = machine();
        await come(state, ids);
        take(state, `${folder}/${nameOf(taken)}`);
        for (const at of leaving.keys()) {
          const left = leaving.slice(at + 1).filter((id) => id !== taken);
          await apply(state, left);
        }
        expect(state.host.files.stat(made), taken).toBeNull();
      }
    });

    test("leave no folder where somebody took the last of them away", async () => {
      const state = machine();
      await come(state, ids);
      const last = leaving.at(-1) ?? "";
      for (const at of leaving.keys()) {
        const left = leaving.slice(at + 1);
        if (left.length === 0) take(state, `${folder}/${nameOf(last)}`);
        await apply(state, left);
      }
      expect(state.host.files.stat(made)).toBeNull();
    });

    test("leave a folder that is declared by then", async () => {
      const state = machine();
      await come(state, ids);
      const declared = { id: "d", type: "directory", path: folder };
      for (const at of leaving.keys()) {
        const left = leaving.slice(at + 1).map((id) => ({ id, ...create(id) }));
        expect((await state.run("apply", declare([declared, ...left]))).status).toBe("succeeded");
      }
      expect(state.host.files.list(folder)).toEqual([]);
    });
  });
});

test("a unit leaves the empty folder that somebody made for drop-ins since", async () => {
  const state = machine();
  const unit = declare([{ id: "u", type: "systemd_unit", name: "site.service", content: "[Service]\n" }]);
  await state.run("apply", unit);
  state.host.files.makeDirectory(`${units}/site.service.d`, {});
  expect((await state.run("apply", [])).status).toBe("succeeded");
  expect(state.host.files.list(units)).toEqual(["site.service.d"]);
});
