/** No bytes are a content like any other, and set-id bits a part of the mode: both are brought about, and come back. */
import { expect, test } from "vitest";
import type { JsonObject } from "../../../../lib/json.ts";
import { resolveResource } from "../../../../lib/state/definition.ts";
import { createMachine, declare, StateFixture } from "../../../support/state-fixture.ts";

const file = (more: JsonObject) => declare([{ id: "f", type: "file", path: "/conf", ...more }]);
const contents: JsonObject[] = [{ content: "" }, { content_base64: "" }];

test.each(contents)(
  "%j makes an empty file, in the place of whatever stood, and that comes back",
  async (content) => {
    for (const stood of [null, "x", "x\n".repeat(40_000)]) {
      const state = new StateFixture();
      if (stood !== null) state.write("/conf", stood);
      for (const mode of ["check", "plan", "apply"] as const) {
        const { results } = await state.run(mode, file(content));
        expect(results[0]?.outcome, mode).toBe(mode === "apply" ? "changed" : "would_change");
      }
      expect(state.read("/conf")).toBe("");
      expect((await state.run("check", file(content))).results[0]).toMatchObject({ outcome: "unchanged" });
      // Somebody writes into it.
      state.write("/conf", "theirs");
      expect((await state.run("apply", file(content))).results[0]).toMatchObject({ outcome: "changed" });
      expect(state.read("/conf")).toBe("");
      await state.run("apply", []);
      expect(state.host.files.stat("/conf") && state.read("/conf")).toBe(stood);
    }
  },
);

test.each([{ content: "x" }, { content_base64: "eA==" }, { ensure: "absent" }])(
  "an empty file that stood before %j comes back empty",
  async (more) => {
    const state = new StateFixture();
    state.write("/conf", "");
    await state.run("apply", file(more));
    const plan = await state.run("plan", []);
    expect(plan.results[0]).toMatchObject({ outcome: "would_change" });
    await state.run("apply", []);
    expect([state.read("/conf"), state.applied]).toEqual(["", []]);
  },
);

const sources = [
  { content: "" },
  { content_base64: "" },
  { source: "https://example.com/x", sha256: "0".repeat(64) },
];
test.each(sources.flatMap((one, at) => sources.slice(at + 1).map((other) => ({ ...one, ...other }))))(
  "two contents are a fault, also where one is empty: %j",
  (both) => {
    expect(resolveResource({ type: "file", path: "/conf", ...both }, { module: "m" }).ok).toBe(false);
  },
);

test.each(["4755", "2755", "6755", "1755", "7777", "0755", "0000"])(
  "the mode %s comes back with the owner or group that it had",
  async (octal) => {
    const mode = Number.parseInt(octal, 8);
    for (const more of [{ owner: "web" }, { group: "33" }, { owner: "web", group: "33" }, { mode: "0644" }]) {
      const state = new StateFixture(createMachine());
      state.host.files.writeFile("/conf", Buffer.from("x"), { mode, uid: 0, gid: 0 });
      expect((await state.run("apply", file(more))).results[0]).toMatchObject({ outcome: "changed" });
      await state.run("apply", []);
      expect(state.host.files.stat("/conf")).toMatchObject({ mode, uid: 0, gid: 0 });
    }
  },
);
