import { describe, expect, test } from "vitest";
import type { HostCommand } from "../../../lib/host/host.ts";
import { checkModule } from "../../../lib/module-format/check-module.ts";
import { resolveResource } from "../../../lib/state/definition.ts";
import { describeLaws, text } from "../../support/laws.ts";
import { createMachine, declare, StateFixture } from "../../support/state-fixture.ts";

/** user::rw-, user:1:rw-, group::---, mask::rw-, other::---, and a note. */
const extras = {
  attributes: {
    "system.posix_acl_access": "AgAAAAEABgD/////AgAGAAEAAAAEAAAA/////xAABgD/////IAAAAP////8=",
    "user.note": "aGVsbG8=",
  },
};

describeLaws({
  "a new file": {
    definition: { type: "file", path: "/work/file", content: "token=hunter2\n", mode: "0640" },
    breakIt: (host) => host.files.setAttributes("/work/file", { mode: 0o666 }),
    secret: "hunter2",
  },
  "a file that was different": {
    definition: { type: "file", path: "/work/file", content: "token=hunter2\n", mode: "0640" },
    prepare: (host) => host.files.writeFile("/work/file", text("token=old\n"), { mode: 0o604 }),
    breakIt: (host) => host.files.writeFile("/work/file", text("token=bad\n"), {}),
    secret: "hunter2",
  },
  "a file with an ACL and an attribute": {
    definition: { type: "file", path: "/work/file", content: "new\n", mode: "0640" },
    prepare: (host) => host.files.writeFile("/work/file", text("old\n"), { mode: 0o660, extras }),
    breakIt: (host) => host.files.writeFile("/work/file", text("bad\n"), { mode: 0o600 }),
  },
  "a file with an ACL and an attribute that is not wanted": {
    definition: { type: "file", path: "/work/file", ensure: "absent" },
    prepare: (host) => host.files.writeFile("/work/file", text("old\n"), { mode: 0o660, extras }),
    breakIt: (host) => host.files.writeFile("/work/file", text("back\n"), {}),
  },
  "a binary file that took the place of a link": {
    definition: { type: "file", path: "/work/file", content_base64: "AAEC/w==", force: true },
    prepare: (host) => host.files.makeSymlink("/work/file", "elsewhere"),
    breakIt: (host) => host.files.removeFile("/work/file"),
    secret: "AAEC",
  },
  "a file that is not wanted": {
    definition: { type: "file", path: "/work/file", ensure: "absent" },
    prepare: (host) => host.files.writeFile("/work/file", text("old\n"), { mode: 0o600 }),
    breakIt: (host) => host.files.writeFile("/work/file", text("back\n"), {}),
  },
});

const file = (more: object) => declare([{ id: "f", type: "file", path: "/conf", ...more }]);

test("a change of content shows hashes, sizes and a diff", async () => {
  const state = new StateFixture();
  state.write("/conf", "a\n");
  const { results } = await state.run("plan", file({ content: "b\n" }));
  expect(results[0]?.changes).toEqual([
    {
      property: "content",
      before: expect.stringMatching(/^sha256:87428fc5[0-9a-f]{56} \(2 bytes\)$/),
      after: expect.stringMatching(/^sha256:0263829989[0-9a-f]{54} \(2 bytes\)$/),
      diff: "--- /conf\n+++ /conf\n@@ -1,1 +1,1 @@\n-a\n+b\n",
    },
  ]);
});

test("a change is told by what stood right before it, where somebody edits the file meanwhile", async () => {
  const state = new StateFixture();
  state.write("/conf", "a\n");
  const slow = declare([{ id: "slow", type: "script", run: "touch done", creates: "/done" }]);
  const { results } = await state.run("apply", [...slow, ...file({ content: "c\n" })], {
    onResult: ({ resource_id }) => {
      if (resource_id === "slow") state.write("/conf", "b\n");
    },
  });
  expect(results[1]?.changes.map(({ diff }) => diff)).toEqual([
    "--- /conf\n+++ /conf\n@@ -1,1 +1,1 @@\n-b\n+c\n",
  ]);
});

test.each([
  ["€", 21_845],
  ["€", 21_846],
  ["€", 65_536],
  ["a", 65_536],
  ["a", 65_537],
])(
  "a long content of %s stands as declared, and its last character counts (%i)",
  async (character, length) => {
    const state = new StateFixture();
    const content = character.repeat(length);
    const outcomes: unknown[] = [];
    const apply = async (desired: string): Promise<unknown> =>
      outcomes.push((await state.run("apply", file({ content: desired }))).results[0]?.outcome);
    await apply(content);
    await apply(content);
    await apply(`${content.slice(0, -1)}b`);
    expect(outcomes).toEqual(["changed", "unchanged", "changed"]);
    expect(state.read("/conf") === `${content.slice(0, -1)}b`).toBe(true);
  },
);

test("what comes back shows a diff too, but not where it is sensitive", async () => {
  for (const sensitive of [false, true]) {
    const state = new StateFixture();
    state.write("/conf", "theirs\n");
    await state.run("apply", file({ content: "ours\n", sensitive }));
    const change = (await state.run("plan", [])).results[0]?.changes[0];
    expect(change?.diff).toBe(
      sensitive ? undefined : "--- /conf\n+++ /conf\n@@ -1,1 +1,1 @@\n-ours\n+theirs\n",
    );
    expect(JSON.stringify(change).includes("theirs")).toBe(!sensitive);
  }
});

test.each([
  ["that stands", 262_144, 1, true],
  ["that stands", 262_145, 1, false],
  ["that is declared", 1, 262_144, true],
  ["that is declared", 1, 262_145, false],
])("the text %s shows a diff up to 256 KiB (%i, %i)", async (_which, stands, wanted, shows) => {
  const state = new StateFixture();
  state.write("/conf", "a".repeat(stands));
  const plan = async (content: string): Promise<unknown> =>
    (await state.run("plan", file({ content }))).results[0]?.changes[0]?.diff === undefined;
  expect(await plan("b".repeat(wanted))).toBe(!shows);
});

test("a change of what is no text shows no diff", async () => {
  const { results } = await new StateFixture().run("plan", file({ content_base64: "AP8=" }));
  expect(results[0]?.changes.map((change) => [change.property, "diff" in change])).toEqual([
    ["ensure", false],
    ["content", false],
  ]);
});

test("an owner is a name or a number; for one who does not exist a plan fails as an apply does", async () => {
  const state = new StateFixture();
  expect((await state.run("apply", file({ owner: "web" }))).status).toBe("succeeded");
  expect(state.host.files.stat("/conf")?.uid).toBe(33);
  expect((await state.run("apply", file({ owner: "33" }))).results[0]?.outcome).toBe("unchanged");
  expect((await state.run("plan", file({ owner: "later" }))).results[0]).toMatchObject({
    outcome: "failed",
    changes: [{ property: "owner", before: "web", after: "later" }],
  });
  expect((await state.run("apply", file({ owner: "later" }))).results[0]).toMatchObject({
    code: "HOST_ERROR",
    message: 'There is no user "later".',
  });
});

test("without a content the content stays", async () => {
  const state = new StateFixture();
  state.write("/conf", "theirs");
  await state.run("apply", file({ mode: "0600" }));
  expect([state.read("/conf"), state.host.files.stat("/conf")?.mode]).toEqual(["theirs", 0o600]);
});

test("with a content alone mode, owner and group stay as they are, of a file that is locked up, too", async () => {
  const state = new StateFixture();
  state.write("/conf", "theirs");
  state.host.files.setAttributes("/conf", { mode: 0o600, uid: 33, gid: 33 });
  await state.run("apply", file({ content: "ours" }));
  expect(state.read("/conf")).toBe("ours");
  expect(state.host.files.stat("/conf")).toMatchObject({ mode: 0o600, uid: 33, gid: 33 });
});

test.each([
  ["of somebody else", { mode: 0o644, uid: 33 }, { owner: "root" }, ["writeFile"]],
  ["that others may write to", { mode: 0o666, uid: 0 }, { mode: "4755" }, ["writeFile"]],
  ["of root's alone", { mode: 0o644, uid: 0 }, { mode: "0600" }, ["setAttributes"]],
])(
  "a file %s gets mode and owner so that nobody holds it open for writing: %j",
  async (_what, stands, more, calls) => {
    const state = new StateFixture();
    state.write("/conf", "same");
    state.host.files.setAttributes("/conf", stands);
    const called: string[] = [];
    for (const call of ["writeFile", "setAttributes"] as const) {
      const member = state.host.files[call].bind(state.host.files) as (...args: unknown[]) => unknown;
      Object.assign(state.host.files, {
        [call]: (...args: unknown[]) => (called.push(call), member(...args)),
      });
    }
    await state.run("apply", file({ content: "same", ...more }));
    expect(called).toEqual(calls);
    expect(state.read("/conf")).toBe("same");
  },
);

describe("what is in the way", () => {
  test("a folder is never replaced", async () => {
    const state = new StateFixture();
    state.host.files.makeDirectory("/conf", {});
    for (const more of [{ content: "x" }, { ensure: "absent" }, { content: "x", force: true }]) {
      expect((await state.run("apply", file(more))).results[0]).toMatchObject({
        outcome: "failed",
        code: "HOST_ERROR",
      });
    }
    expect(state.host.files.stat("/conf")?.kind).toBe("directory");
  });

  test("a link is replaced with force only", async () => {
    const state = new StateFixture();
    state.host.files.makeSymlink("/conf", "target");
    expect((await state.run("apply", file({ content: "x" }))).status).toBe("failed");
    expect((await state.run("apply", file({ content: "x", force: true }))).status).toBe("succeeded");
    expect(state.read("/conf")).toBe("x");
  });
});

describe("validate", () => {
  const accepts = (content: string) => {
    const tested: string[] = [];
    const host = createMachine({
      judge({ argv }: HostCommand) {
        const text = Buffer.from(host.files.readFile(argv[2] ?? "")).toString();
        tested.push(`${argv[1]} ${argv[2]}`);
        return { exitCode: text === content ? 0 : 1 };
      },
    });
    return { state: new StateFixture(host), tested };
  };
  const validate = ["judge", "-f", "%"];

  test("lets through what the program accepts, and leaves no copy", async () => {
    const { state, tested } = accepts("good");
    await state.run("apply", file({ content: "good", validate }));
    expect([state.read("/conf"), state.host.files.list("/"), tested]).toEqual([
      "good",
      ["conf"],
      [expect.stringMatching(/^-f \/\.fleetwright-[0-9a-f]{16}-[0-9a-f]{16}\.validate$/)],
    ]);
  });

  test("keeps the old file where the program refuses", async () => {
    const { state } = accepts("good");
    state.write("/conf", "old");
    const { results } = await state.run("apply", file({ content: "bad", validate }));
    expect(results[0]).toMatchObject({ outcome: "failed", code: "COMMAND_FAILED", exit_code: 1 });
    expect([state.read("/conf"), state.host.files.list("/")]).toEqual(["old", ["conf"]]);
  });
});

test.each([
  ["nothing but a program", ["true"]],
  ["the path of the file itself", ["nginx", "-t", "-c", "/conf"]],
  ["% within an argument", ["sh", "-c", "visudo -cf %"]],
  ["% as the program", ["%"]],
])("a validate that is not given the copy judges the old content, and is refused: %s", (_what, validate) => {
  const resolution = resolveResource(
    { id: "f", type: "file", path: "/conf", content: "x", validate },
    { module: "m" },
  );
  expect(resolution).toEqual({
    ok: false,
    issues: [
      { path: ["validate"], message: 'needs the argument "%", the path of the copy that is to be tested' },
    ],
  });
});

test("a module says where the validate is that lacks the copy", () => {
  const content = [
    "name: m",
    "params: { copy: { type: string } }",
    "resources:",
    "  - { type: file, path: /a, content: x, validate: [judge, '{{ params.copy }}'] }",
    "  - type: file",
    "    path: /b",
    "    content: x",
    "    validate: [nginx, -t]",
  ].join("\n");
  expect(checkModule(content).faults).toEqual([
    expect.objectContaining({ path: ["resources", 1, "validate"], line: 8, column: 15 }),
  ]);
});

describe("a file of several names", () => {
  const linked = (): StateFixture => {
    const state = new StateFixture();
    state.write("/conf", "old\n");
    state.host.files.hardLink("/conf", "/other");
    return state;
  };
  const textAt = (state: StateFixture, path: string): string =>
    new TextDecoder().decode(state.host.files.readFile(path));

  test("is told to become a file of its own, and does", async () => {
    const state = linked();
    const broken = { property: "hard_links", before: 2, after: 1 };
    for (const mode of ["plan", "apply"] as const) {
      const { results } = await state.run(mode, file({ content: "new\n" }));
      expect(results[0]?.changes).toContainEqual(broken);
    }
    expect([textAt(state, "/conf"), textAt(state, "/other")]).toEqual(["new\n", "old\n"]);
  });

  test("stays one file where the links are to be kept, there and back", async () => {
    const state = linked();
    const { results } = await state.run("apply", file({ content: "new\n", hard_links: "keep" }));
    expect(results[0]?.changes.map(({ property }) => property)).toEqual(["content"]);
    expect([textAt(state, "/conf"), textAt(state, "/other")]).toEqual(["new\n", "new\n"]);
    await state.run("apply", []);
    expect([textAt(state, "/conf"), textAt(state, "/other")]).toEqual(["old\n", "old\n"]);
    expect(state.host.files.stat("/conf")?.links).toBe(2);
  });

  test("is told of no other name where only its mode changes", async () => {
    const { results } = await linked().run("apply", file({ mode: "0600" }));
    expect(results[0]?.changes.map(({ property }) => property)).toEqual(["mode"]);
  });
});

test("a plan of what may not be changed fails as the apply does", async () => {
  const state = new StateFixture();
  state.write("/conf", "old\n");
  state.host.files.setImmutable("/conf", true);
  for (const wanted of [{ content: "new\n" }, { mode: "0600" }, { ensure: "absent" }]) {
    for (const mode of ["plan", "apply"] as const) {
      const { results } = await new StateFixture(state.host).run(mode, file(wanted));
      expect(results[0]).toMatchObject({
        outcome: "failed",
        code: "HOST_ERROR",
        message: "/conf is immutable (chattr +i) and stays as it is.",
      });
    }
  }
});

test("another ACL or attribute alone is no drift", async () => {
  const state = new StateFixture();
  await state.run("apply", file({ content: "ours\n", mode: "0640" }));
  state.host.files.setAttributes("/conf", { extras });
  expect((await state.run("check", file({ content: "ours\n", mode: "0640" }))).results[0]?.outcome).toBe(
    "unchanged",
  );
});
