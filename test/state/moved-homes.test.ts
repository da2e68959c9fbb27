/** The home of an account moves: a key in the new one is another thing, and the one in the old home goes. */
import { expect, test } from "vitest";
import type { JsonObject } from "../../lib/json.ts";
import type { ResolvedResource } from "../../lib/state/resource.ts";
import { wholeMachine } from "../support/machine/whole-machine.ts";
import { declare, StateFixture } from "../support/state-fixture.ts";

const key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGZsZWV0d3JpZ2h0";
const other = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGZsZWV0d3JpZ2h1";
const theirs = `from="10.0.0.0/8" ${key}\n`;
const owner = { uid: 1700, gid: 1700 };

/** A machine with a folder that becomes a home, and what stands in its authorized_keys. */
function machine(content: string | null): StateFixture {
  const state = new StateFixture(wholeMachine());
  const { files } = state.host;
  files.makeDirectory("/w", { mode: 0o755 });
  files.makeDirectory("/w/u", { mode: 0o755, ...owner });
  if (content === null) return state;
  files.makeDirectory("/w/u/.ssh", { mode: 0o700, ...owner });
  files.writeFile("/w/u/.ssh/authorized_keys", Buffer.from(content), { mode: 0o600, ...owner });
  return state;
}

const user = (home: string): JsonObject => ({ id: "u", type: "user", name: "u", uid: 1700, home });
const keyOf = (more: JsonObject = {}): JsonObject => ({
  id: "k",
  type: "authorized_key",
  user: "u",
  key,
  ...more,
});
const version = (home: string): ResolvedResource[] => declare([user(home), keyOf()]);

function keysIn({ host: { files } }: StateFixture, home: string): string | null {
  const path = `${home}/.ssh/authorized_keys`;
  return files.stat(`${home}/.ssh`) && files.stat(path) ? Buffer.from(files.readFile(path)).toString() : null;
}

async function succeed(state: StateFixture, desired: ResolvedResource[], scope?: string[]): Promise<void> {
  const options = scope && { scope };
  const plan = await state.run("plan", desired, options);
  const { status, results } = await state.run("apply", desired, options);
  expect({ status, results }).toMatchObject({ status: "succeeded" });
  const named = (all: typeof results): string[] =>
    all.map(({ resource_id, identity, action }) => `${resource_id} ${identity} ${action}`);
  expect(named(plan.results)).toEqual(named(results));
  const again = await state.run("plan", desired, options);
  expect(again.results.filter(({ outcome }) => outcome !== "unchanged")).toEqual([]);
}

test.each([
  ["has the key with options", theirs],
  ["has another key", `${other}\n`],
  ["has an empty file", ""],
  ["has no .ssh", null],
])("a key leaves the old home for one that %s, and what was there comes back", async (_, content) => {
  const state = machine(content);
  await succeed(state, version("/home/u"));
  await succeed(state, version("/w/u"));
  expect(keysIn(state, "/home/u")).toBeNull();
  expect(keysIn(state, "/w/u")).toContain(`${key}\n`);
  await succeed(state, declare([user("/w/u")]));
  expect(keysIn(state, "/w/u")).toBe(content);
  expect(state.host.files.stat("/w/u/.ssh") !== null).toBe(content !== null);
});

test("a key that an earlier agent noted without its home leaves that, too", async () => {
  const state = machine(theirs);
  await succeed(state, version("/home/u"));
  const [, declared] = version("/home/u");
  state.applied = state.applied.map((entry) => {
    if (entry.resource.type !== "authorized_key") return entry;
    const { home, ...spec } = entry.prior!.spec;
    expect(home).toBe("/home/u");
    return { ...entry, resource: declared!, prior: { ...entry.prior!, spec } };
  });
  await succeed(state, version("/w/u"));
  expect(keysIn(state, "/home/u")).toBeNull();
  await succeed(state, declare([user("/w/u")]));
  expect(keysIn(state, "/w/u")).toBe(theirs);
});

test("where another module moves the home, the key stays in the old one until its own module is applied", async () => {
  const state = machine(theirs);
  const users = (home: string): ResolvedResource[] => declare([user(home)], "users");
  const keys = declare([keyOf()], "keys");
  await succeed(state, [...users("/home/u"), ...keys]);
  await succeed(state, users("/w/u"), ["users"]);
  expect([keysIn(state, "/home/u"), keysIn(state, "/w/u")]).toEqual([`${key}\n`, theirs]);
  await succeed(state, keys, ["keys"]);
  expect([keysIn(state, "/home/u"), keysIn(state, "/w/u")]).toEqual([null, `${key}\n`]);
  await succeed(state, [], ["keys"]);
  expect([keysIn(state, "/home/u"), keysIn(state, "/w/u")]).toEqual([null, theirs]);
});

test("a key that is taken away after the home has moved goes where it was put", async () => {
  const state = machine(theirs);
  await succeed(state, [...declare([user("/home/u")], "users"), ...declare([keyOf()], "keys")]);
  await succeed(state, declare([user("/w/u")], "users"));
  expect([keysIn(state, "/home/u"), keysIn(state, "/w/u")]).toEqual([null, theirs]);
});

test("a key that is to be absent comes back in the home that had it", async () => {
  const state = machine(theirs);
  await succeed(state, declare([user("/w/u")]));
  await succeed(state, declare([user("/w/u"), keyOf({ ensure: "absent" })]));
  expect(keysIn(state, "/w/u")).toBe("");
  await succeed(state, declare([user("/home/u"), keyOf({ ensure: "absent" })]));
  expect(keysIn(state, "/w/u")).toBe(theirs);
});

test("a key stays where it is while its home is only spelled otherwise", async () => {
  const state = new StateFixture(wholeMachine());
  const accounts = state.read("/etc/passwd");
  const spelled = (home: string): void =>
    state.write("/etc/passwd", `${accounts}u:x:1700:1700::${home}:/bin/sh\n`);
  state.host.files.makeDirectory("/w", { mode: 0o755 });
  state.host.files.makeDirectory("/w/u", { mode: 0o755, ...owner });
  spelled("/w/u/");
  await succeed(state, declare([keyOf()]));
  for (const home of ["/w/u", "/w/u//", "/w/u/"]) {
    spelled(home);
    const { results } = await state.run("plan", declare([keyOf()]));
    expect(results).toMatchObject([{ resource_id: "k", outcome: "unchanged" }]);
  }
  await succeed(state, []);
  expect(keysIn(state, "/w/u")).toBeNull();
});
