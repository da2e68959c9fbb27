/** A content that a program judges before it is put into its place: what somebody else does meanwhile stays his. */
import { expect, test } from "vitest";
import { hostError } from "../../lib/host/host-error.ts";
import type { MemoryHost } from "../../lib/host/memory-host.ts";
import { createMachine, declare, outcomes, StateFixture } from "../support/state-fixture.ts";

const conf = { id: "f", type: "file", path: "/conf", content: "ours" };
const judged = { ...conf, validate: ["judge", "%"] };

test("a content that its judge refuses is not ours, even if somebody edits the file while it is judged", async () => {
  const state: StateFixture = new StateFixture(
    createMachine({ judge: () => (state.write("/conf", "edited meanwhile"), { exitCode: 1 }) }),
  );
  state.write("/conf", "theirs");
  expect(outcomes(await state.run("apply", declare([judged])))).toEqual(["f failed"]);
  expect(state.applied).toEqual([]);
  state.write("/conf", "edited later");
  await state.run("apply", []);
  expect(state.read("/conf")).toBe("edited later");
});

test("a file that somebody edits while its content is judged is not overwritten", async () => {
  let edits = true;
  const state: StateFixture = new StateFixture(
    createMachine({ judge: () => (edits && state.write("/conf", "edited"), { exitCode: 0 }) }),
  );
  state.write("/conf", "theirs");
  const run = await state.run("apply", declare([judged]));
  expect(run.results[0]).toMatchObject({ outcome: "failed", code: "HOST_ERROR" });
  expect([state.read("/conf"), state.applied]).toEqual(["edited", []]);
  edits = false;
  await state.run("apply", declare([judged]));
  await state.run("apply", []);
  expect(state.read("/conf")).toBe("edited");
});

/** What may become of a draft while it is judged. */
const fates: [what: string, befall: (host: MemoryHost, draft: string) => void][] = [
  ["that its judge takes away", (host, draft) => host.files.removeFile(draft)],
  [
    "that can't be looked at any more",
    (host, draft) => {
      const stat = host.files.stat.bind(host.files);
      const broken = (path: string) => {
        if (path === draft) throw hostError(path, "EIO");
        return stat(path);
      };
      Object.assign(host.files, { stat: broken });
    },
  ],
];

test.each(fates)("a draft %s makes no edit ours", async (_what, befall) => {
  const state: StateFixture = new StateFixture(
    createMachine({
      judge: ({ argv }) => {
        befall(state.host, argv.at(-1)!);
        state.write("/conf", "edited meanwhile");
        return { exitCode: 0 };
      },
    }),
  );
  const run = await state.run("apply", declare([judged]));
  expect(run.results[0]).toMatchObject({ outcome: "failed", code: "HOST_ERROR" });
  expect(state.applied).toEqual([]);
  await state.run("apply", []);
  expect(state.read("/conf")).toBe("edited meanwhile");
});
