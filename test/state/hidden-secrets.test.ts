/** A sensitive resource is not alone on the machine: what stands beside it must not tell what it put there. */
import { expect, test } from "vitest";
import type { JsonObject } from "../../lib/json.ts";
import type { StateRunResult } from "../../lib/state/run/engine.ts";
import { declare, StateFixture } from "../support/state-fixture.ts";

const path = "/env";
const password = {
  id: "pw",
  type: "line",
  path,
  line: "PW=hunter2",
  match: "PW=*",
  create: true,
  sensitive: true,
};
const port = { id: "port", type: "line", path, line: "PORT=80", match: "PORT=*" };
const block = { id: "block", type: "block", path, name: "b", content: "A=1\n" };

const tells = ({ results }: StateRunResult): boolean => JSON.stringify(results).includes("hunter2");

test.each<[string, JsonObject]>([
  ["a line", port],
  ["a block", block],
  ["the file itself", { id: "file", type: "file", path, content: "A=1\nPW=hunter2\n" }],
])("%s shows no diff of a file in which another resource has a secret", async (_name, beside) => {
  const fixture = new StateFixture();
  const desired = declare([password, beside]);
  const plan = await fixture.run("plan", desired);
  expect(plan.results.map(({ outcome }) => outcome)).toEqual(["would_change", "would_change"]);
  expect(tells(plan)).toBe(false);
  expect(tells(await fixture.run("apply", desired))).toBe(false);
  fixture.write(path, "PORT=1\nPW=hunter2\n# BEGIN b\n# END b\n");
  expect(tells(await fixture.run("check", desired))).toBe(false);
});

test("what it changes itself is shown beside a secret too", async () => {
  const { results } = await new StateFixture().run("plan", declare([password, port]));
  expect(results[1]?.changes).toEqual([{ property: "line", before: null, after: "PORT=80" }]);
});

test("a diff of another file is shown", async () => {
  const { results } = await new StateFixture().run(
    "plan",
    declare([password, { id: "other", type: "file", path: "/other", content: "A=1\n" }]),
  );
  expect(results[1]?.changes[1]?.diff).toContain("+A=1");
});

test("what was sensitive until now does not show what it was", async () => {
  const fixture = new StateFixture();
  await fixture.run("apply", declare([password, port]));
  const open = { ...password, line: "PW=none", sensitive: false };
  expect(tells(await fixture.run("plan", declare([open, port])))).toBe(false);
});

test("what goes beside a secret shows no diff of it", async () => {
  const fixture = new StateFixture();
  await fixture.run("apply", declare([password, block]));
  expect(tells(await fixture.run("plan", declare([password])))).toBe(false);
  expect(tells(await fixture.run("plan", []))).toBe(false);
});

test.each([
  ["the secret's", "/alias/env", "/real/env"],
  ["the other's", "/real/env", "/alias/env"],
])("a link in %s path hides no less", async (_name, secretPath, otherPath) => {
  const fixture = new StateFixture();
  fixture.host.files.makeDirectory("/real", { mode: 0o755 });
  fixture.host.files.makeSymlink("/alias", "/real");
  const secret = { ...password, path: secretPath };
  await fixture.run("apply", declare([secret]));
  const both = declare([secret, { ...block, path: otherPath }]);
  const plan = await fixture.run("plan", both);
  expect(plan.results.map(({ outcome }) => outcome)).toEqual(["unchanged", "would_change"]);
  expect(tells(plan)).toBe(false);
  expect(tells(await fixture.run("apply", both))).toBe(false);
});

test.each([true, false])(
  "the log has what broke inside, but not where that is sensitive (%s)",
  async (sensitive) => {
    const fixture = new StateFixture();
    fixture.host.files.writeFile = () => {
      throw new TypeError("PW=hunter2 is not a function");
    };
    const logged: unknown[] = [];
    const note = (...line: unknown[]): void => void logged.push(line);
    const logger = { debug: note, info: note, warn: note, error: note };
    const { results } = await fixture.run("apply", declare([{ ...password, sensitive }]), { logger });
    expect(results[0]).toMatchObject({ outcome: "failed", code: "INTERNAL" });
    const fields = { resource: "m/pw", ...(!sensitive && { error: expect.any(TypeError) }) };
    expect(logged).toEqual([["A resource failed inside.", fields]]);
  },
);
