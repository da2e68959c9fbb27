/**
 * A user is removed and the group of his name stays, through a kill too. Symptom: root was made a member for that long, and was one
 * for ever where the agent was killed before it took him out again.
 */
import { expect, test } from "vitest";
import type { Host } from "../../../../lib/host/host.ts";
import { memoryMachine } from "../../../support/machine/memory-machine.ts";
import { declare, StateFixture } from "../../../support/state-fixture.ts";

test.each([
  ["before the user goes", false],
  ["after the user went", true],
])("a group that stood before has its members again where an agent was killed %s", async (_when, hasGone) => {
  const host = memoryMachine();
  const state = new StateFixture(host);
  const groups = state.read("/etc/group");
  await state.run("apply", declare([{ id: "u", type: "user", name: "staff", create_home: false }]));
  const { applied } = state;
  const tables = ["/etc/passwd", "/etc/shadow", "/etc/group"];
  let atKill = new Map<string, string>();
  const note = (): void => void (atKill = new Map(tables.map((path) => [path, state.read(path)])));
  const killed: Host = Object.create(host, {
    run: {
      async value(command: Parameters<Host["run"]>[0], given: AbortSignal) {
        if (command.argv[0] !== "userdel") return host.run(command, given);
        if (!hasGone) note();
        const result = await host.run(command, given);
        if (hasGone) note();
        return result;
      },
    },
  });
  await state.run("apply", [], { host: killed });
  // What the process would have done after it did not happen.
  for (const [path, text] of atKill) state.write(path, text);
  state.applied = applied;
  expect((await state.run("apply", [])).status).toBe("succeeded");
  expect([state.read("/etc/passwd").includes("staff:"), state.read("/etc/group")]).toEqual([false, groups]);
  expect((await state.run("plan", [])).results).toEqual([]);
});

test("a user that is wanted again after an agent was killed while it removed him leaves nothing in his group", async () => {
  const state = new StateFixture(memoryMachine());
  const groups = state.read("/etc/group");
  const definition = { id: "u", type: "user", name: "staff", create_home: false };
  await state.run("apply", declare([definition]));
  let atKill = "";
  const killed: Host = Object.create(state.host, {
    run: {
      value(command: Parameters<Host["run"]>[0], given: AbortSignal) {
        if (command.argv[0] !== "userdel") return state.host.run(command, given);
        atKill = state.read("/etc/group");
        return {
          exitCode: 8,
          signal: null,
          stdout: "",
          stderr: "",
          truncated: { stdout: false, stderr: false },
        };
      },
    },
  });
  await state.run("apply", [], { host: killed });
  expect(state.read("/etc/group")).toBe(groups);
  state.write("/etc/group", atKill);
  await state.run("apply", declare([definition]));
  expect(state.read("/etc/group")).toBe(groups);
});

test("a user whose group nobody else declares any more after such a kill leaves nobody in it", async () => {
  const state = new StateFixture(memoryMachine());
  const user = declare([{ id: "u", type: "user", name: "web", create_home: false }], "a");
  const group = declare([{ id: "g", type: "group", name: "web" }], "b");
  await state.run("apply", user);
  await state.run("apply", [...user, ...group]);
  const { applied } = state;
  let atKill = "";
  const killed: Host = Object.create(state.host, {
    run: {
      value(command: Parameters<Host["run"]>[0], given: AbortSignal) {
        if (command.argv[0] !== "userdel") return state.host.run(command, given);
        atKill = state.read("/etc/group");
        return Promise.reject(new Error("killed"));
      },
    },
  });
  await state.run("apply", group, { host: killed });
  expect(atKill).toMatch(/^web:x:\d+:\S+$/m);
  state.write("/etc/group", atKill);
  state.applied = applied;
  await state.run("apply", user);
  state.write("/etc/group", atKill);
  expect((await state.run("apply", [])).status).toBe("succeeded");
  expect(state.read("/etc/passwd")).not.toContain("web:");
  expect(state.read("/etc/group")).not.toMatch(/^web:x:\d+:\S+$/m);
});
