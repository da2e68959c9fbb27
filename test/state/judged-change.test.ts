/** A content that a program judges before it is put into its place: what somebody else does meanwhile stays his. */
import { describe, expect, test } from "vitest";
import { hostError } from "../../lib/host/host-error.ts";
import { MemoryHost } from "../../lib/host/memory-host.ts";
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
  const { results } = await state.run("apply", declare([judged]));
  expect(results[0]).toMatchObject({ outcome: "changed", exit_code: 0 });
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

/** What the judge of a plan finds beside its copy; null where it was not asked. */
async function planned(
  prepare: (host: MemoryHost) => void,
  options: { isConfined?: boolean } = {},
): Promise<{ outcome: string; beside: string[] | null; left: boolean }> {
  // The copy itself has a name with a dot.
  let beside: string[] | null = null;
  const host: MemoryHost = new MemoryHost({
    ...options,
    users: { root: 0, web: 33 },
    programs: {
      judge({ argv }) {
        const [, copy = ""] = argv;
        beside = host.files
          .list(copy.slice(0, copy.lastIndexOf("/")))
          .filter((name) => !name.startsWith("."));
        return {};
      },
    },
  });
  host.files.makeDirectory("/etc", { mode: 0o755 });
  prepare(host);
  const { results } = await new StateFixture(host).run("plan", declare([{ ...judged, path: "/etc/conf" }]));
  const left = host.files.stat(host.workFolder()) !== null;
  return { outcome: results[0]!.outcome, beside, left };
}

/** Somebody else than root may lead a folder, and all below it, elsewhere. */
function lead({ files }: MemoryHost, folder: string): void {
  const ledBy = files.ledBy.bind(files);
  files.ledBy = (path) => (path === folder || path.startsWith(`${folder}/`) ? 33 : ledBy(path));
}

describe("a plan", () => {
  const fill = (host: MemoryHost, count: number): void => {
    for (let at = 0; at < count; at += 1)
      host.files.writeFile(`/etc/n${at}`, new Uint8Array(), { mode: 0o644 });
  };

  test("shows its judge what stands beside the file, a thousand names at most", async () => {
    const some = await planned((host) => fill(host, 1000));
    expect([some.outcome, some.beside?.length, some.left]).toEqual(["would_change", 1000, false]);
    const many = await planned((host) => fill(host, 1001));
    expect(many).toEqual({ outcome: "would_change", beside: [], left: false });
  });

  test.each<[string, Parameters<typeof planned>]>([
    ["where somebody else can put it there", [(host) => (fill(host, 1), lead(host, "/etc"))]],
    ["below a root folder, where its path is another one", [(host) => fill(host, 1), { isConfined: true }]],
  ])("shows it nothing beside the file %s", async (_where, scene) => {
    expect(await planned(...scene)).toEqual({ outcome: "would_change", beside: [], left: false });
  });

  test("asks no judge about a copy that somebody else could lead elsewhere", async () => {
    const found = await planned((host) => lead(host, host.workFolder()));
    expect(found).toEqual({ outcome: "unknown", beside: null, left: false });
  });
});
