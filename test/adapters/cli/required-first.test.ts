import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { runIn } from "../../support/command-line.ts";
import { recordAnswers } from "../../support/sent-requests.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

/** Uploads modules to a server that refuses each until those are there that it requires. */
async function upload(
  needs: Readonly<Record<string, readonly string[]>>,
  refusal: { code?: string; pointers?: readonly string[] } = {},
) {
  const { code = "MODULE_INVALID", pointers = ["/requires/0"] } = refusal;
  const there = new Set<string>();
  const sent = recordAnswers(({ input }) => {
    const name = /name: (\S+)/.exec((input as { content: string }).content)![1]!;
    const missing = needs[name]!.find((each) => !there.has(each));
    if (missing === undefined) {
      there.add(name);
      return Response.json({ name, revision: 1, created: true });
    }
    const errors = pointers.map((pointer) => ({ pointer, message: "No." }));
    const problem = { type: "about:blank", title: "No.", status: 409, detail: `${name} needs ${missing}.` };
    return Response.json({ ...problem, code, errors }, { status: 409 });
  });
  const folder = temporaryFolder();
  mkdirSync(join(folder, "home"));
  const profile = { url: "http://fleet.example", key: "/none", token: "t" };
  writeFileSync(join(folder, "home", "profile.json"), JSON.stringify(profile));
  const files = Object.keys(needs).map((name) => {
    writeFileSync(join(folder, `${name}.yaml`), `name: ${name}\n`);
    return join(folder, `${name}.yaml`);
  });
  const { code: exit, stderr } = await runIn(folder, ["modules", "upload", ...files]);
  const order = sent.map(({ input }) => /name: (\S+)/.exec((input as { content: string }).content)![1]);
  return { exit, stderr, order: order.join(" "), there: [...there].join(" ") };
}

test("modules that require each other go up in the order that the server takes", async () => {
  expect(await upload({ c: ["b"], b: ["a"], a: [] })).toMatchObject({ exit: 0, order: "c b a c b c" });
});

test("where nothing else helps, the first that is refused is told", async () => {
  const stuck = await upload({ a: [], b: ["none"], c: ["none"] });
  expect(stuck).toMatchObject({ exit: 1, order: "a b c b c", there: "a" });
  expect(stuck.stderr).toContain("b needs none.");
  expect(stuck.stderr).not.toContain("c needs none.");
});

test.each([
  ["is wrong beside what it requires", { pointers: ["/requires/0", "/resources/0/path"] }],
  ["is wrong in something else alone", { pointers: ["/resources/0/path"] }],
  ["is wrong without a place", { pointers: [] }],
  ["requires what is refused otherwise", { code: "CONFLICT" }],
])("a module that %s is refused at once", async (_, refusal) => {
  expect(await upload({ b: ["a"], a: [] }, refusal)).toMatchObject({ exit: 1, order: "b", there: "" });
});
