/** A machine that can't tell its accounts: what rests on them fails by itself, and nothing else does. */
import { expect, test } from "vitest";
import { hostError } from "../../lib/host/host-error.ts";
import type { JsonObject } from "../../lib/json.ts";
import type { ResolvedResource } from "../../lib/state/resource.ts";
import { wholeMachine } from "../support/machine/whole-machine.ts";
import { declare, outcomes, StateFixture } from "../support/state-fixture.ts";

const key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGZsZWV0d3JpZ2h0";

/** A machine with a user, whose table of accounts is out of reach when it is told so. */
function machine(): { state: StateFixture; breakIt: () => void; mend: () => void } {
  const state = new StateFixture(wholeMachine({ hasCron: true }));
  const { files, users } = state.host;
  state.write("/etc/passwd", `${state.read("/etc/passwd")}deploy:x:1700:1700::/home/deploy:/bin/sh\n`);
  files.makeDirectory("/home/deploy", { mode: 0o755, uid: 1700, gid: 1700 });
  const [readFile, userName] = [files.readFile.bind(files), users.userName.bind(users)];
  const refuse = (): never => {
    throw hostError("/etc/passwd", "EIO");
  };
  const breakIt = (): void => {
    files.readFile = (path, expected) => (path === "/etc/passwd" ? refuse() : readFile(path, expected));
    users.userName = refuse;
  };
  const mend = (): void => {
    files.readFile = readFile;
    users.userName = userName;
  };
  return { state, breakIt, mend };
}

const resting: Record<string, JsonObject> = {
  "a key": { type: "authorized_key", user: "deploy", key },
  "a job of a user by his number": { type: "cron", name: "job", user: "0", command: "true", hour: 1 },
  "an account": { type: "user", name: "deploy", shell: "/bin/bash" },
};

const besideFile = (what: string): ResolvedResource[] =>
  declare([
    { id: "r", on_failure: "continue", ...resting[what] },
    { id: "f", type: "file", path: "/conf", content: "x" },
  ]);

test.each(Object.keys(resting))("%s is not made, and all else is", async (what) => {
  const { state, breakIt } = machine();
  const desired = besideFile(what);
  breakIt();
  for (const [mode, outcome] of [
    ["check", "would_change"],
    ["plan", "would_change"],
    ["apply", "changed"],
  ] as const) {
    const { results } = await state.run(mode, desired);
    expect(results).toMatchObject([{ outcome: "failed", code: "HOST_ERROR" }, { outcome }]);
  }
});

test.each(["a key", "an account"])("%s is not taken away before they can be read again", async (what) => {
  const { state, breakIt, mend } = machine();
  expect(outcomes(await state.run("apply", besideFile(what)))).toEqual(["r changed", "f changed"]);
  breakIt();
  expect(outcomes(await state.run("apply", []))).toEqual(["f changed", "r failed"]);
  mend();
  expect(outcomes(await state.run("apply", []))).toEqual(["r changed"]);
});

test("a home that is declared is none of what a purge would take all the same", async () => {
  const { state, breakIt } = machine();
  for (const path of ["/work", "/work/homes", "/work/homes/deploy"])
    if (!state.host.files.stat(path)) state.host.files.makeDirectory(path, { mode: 0o755 });
  state.write("/work/homes/deploy/thesis", "years of work");
  state.write("/work/homes/stray", "x");
  breakIt();
  const purged = { id: "d", type: "directory", path: "/work/homes", purge: true };
  const user = { id: "u", type: "user", name: "deploy", home: "/work/homes/deploy" };
  const { results } = await state.run("check", declare([purged, user]));
  expect(results).toMatchObject([
    { outcome: "would_change", changes: [{ property: "purge", before: ["stray"], after: [] }] },
    { outcome: "failed", code: "HOST_ERROR" },
  ]);
});
