/** Keys of users whom the name service of a machine knows, and its files do not. */
import { expect, test } from "vitest";
import { MemoryHost } from "../../../lib/host/memory-host.ts";
import { declare, StateFixture } from "../../support/state-fixture.ts";

const key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGZsZWV0d3JpZ2h0 ops@example.com";
const wanted = declare([{ id: "k", type: "authorized_key", user: "ann", key }]);

/** A machine whose name service knows ann by her number, and answers this when it is asked more. */
function machine(answer: { stdout?: string; exitCode?: number }): StateFixture {
  const host = new MemoryHost({ users: { root: 0, ann: 5000 }, programs: { getent: () => answer } });
  const state = new StateFixture(host);
  host.files.makeDirectory("/home", { mode: 0o755 });
  host.files.makeDirectory("/home/ann", { mode: 0o755, uid: 5000, gid: 5000 });
  return state;
}

test.each([
  "ann:*:5000:5001:Ann:/home/ann:/bin/bash\n",
  "ann:x:5000:5001::/home/ann:\n",
  "ann:x:5000:5001::/home/ann:/bin/sh\nann:x:6000:6000::/home/other:/bin/sh\n",
])("a user of whom the name service says %j gets the key into the home that it says", async (stdout) => {
  const state = machine({ stdout });
  const { results } = await state.run("apply", wanted);
  expect(results[0]).toMatchObject({ outcome: "changed" });
  expect(state.read("/home/ann/.ssh/authorized_keys")).toBe(`${key}\n`);
  const owner = { uid: 5000, gid: 5001 };
  expect(state.host.files.stat("/home/ann/.ssh/authorized_keys")).toMatchObject(owner);
  expect((await state.run("check", wanted)).results[0]).toMatchObject({ outcome: "unchanged" });
});

test.each([{ exitCode: 2 }, { stdout: "" }, { stdout: "\n" }])(
  "a user of whom the name service says %j gets no key, and that is a failure",
  async (answer) => {
    const { results } = await machine(answer).run("apply", wanted);
    expect(results[0]).toMatchObject({ outcome: "failed", message: 'There is no user "ann".' });
  },
);
