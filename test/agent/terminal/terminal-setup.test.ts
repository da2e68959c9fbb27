/** What a terminal runs, and with which environment. */
import { existsSync, readFileSync } from "node:fs";
import { userInfo } from "node:os";
import { expect, it } from "vitest";
import { type TerminalSetup, toProgram } from "../../../lib/agent/terminal/terminal-setup.ts";
import { uuid } from "../../support/agent-commands.ts";

function programOf(setup: TerminalSetup, shell?: string) {
  return toProgram(setup, "0".repeat(32), {
    type: "terminal.open",
    not_after: "2030-01-01T01:00:00.000Z",
    id: uuid(1),
    session_id: uuid(1),
    cols: 80,
    rows: 24,
    operator: "ada",
    ...(shell !== undefined && { shell }),
  });
}

const own = userInfo().shell ?? "/bin/sh";

// Editors and pagers start a shell by it: that of a user who may not sign in, such as nologin, would only refuse them.
it.each([
  ["the agent's setting", { shell: "/bin/sh" }, undefined, "/bin/sh"],
  ["the agent's setting, also where somebody names a program", { shell: "/bin/sh" }, "/bin/cat", "/bin/sh"],
  ["the user's, where there is no setting", {}, undefined, own],
  ["the user's, where somebody names a program", {}, "/bin/cat", own],
] as const)("SHELL is %s", (_what, setup, shell, expected) => {
  expect(programOf(setup, shell).environment).toMatchObject({ SHELL: expected });
});

// What an owner set is for everybody: a restricted shell would be worth nothing if an operator could name another.
it.each([
  ["the agent's setting, whatever somebody names", { shell: "/bin/sh" }, "/bin/cat", "/bin/sh"],
  ["the agent's setting", { shell: "/bin/sh" }, undefined, "/bin/sh"],
  ["what somebody names, where there is no setting", {}, "/bin/cat", "/bin/cat"],
  ["the user's shell, where nothing says anything", {}, undefined, own],
] as const)("a terminal runs %s", (_what, setup, shell, expected) => {
  expect(programOf(setup, shell).file).toBe(expected);
});

it.skipIf(process.getuid?.() !== 0)("a user without a shell of their own has the agent's", () => {
  const { args, environment } = programOf({ user: "nobody", shell: "/bin/sh" });
  expect(args.at(-1)).toBe("/bin/sh");
  expect(environment).toMatchObject({ USER: "nobody", SHELL: "/bin/sh" });
});

it.skipIf(process.getuid?.() !== 0)(
  "a terminal begins in the home of its user, or at the top where there is none",
  () => {
    const accounts = readFileSync("/etc/passwd", "utf8").trim().split("\n");
    const homes = new Map(accounts.map((line) => [line.split(":")[0]!, line.split(":")[5]!]));
    expect([...homes.values()].some((home) => !existsSync(home))).toBe(true);
    for (const [user, home] of homes)
      expect([user, programOf({ user, shell: "/bin/sh" }).folder]).toEqual([
        user,
        existsSync(home) ? home : "/",
      ]);
  },
);
