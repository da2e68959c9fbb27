/** Questions at a real terminal: keys that answer, and keys that end the question. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { beforeEach, expect, it } from "vitest";
import { startAskedFleet } from "../../support/asked-fleet.ts";
import type { AskedFleet } from "../../support/asked-fleet.ts";
import { Terminal } from "../../support/terminal.ts";

const question = "Remove it? [y/N] ";
let fleet: AskedFleet;
let home: string;
const hasOld = (): boolean => fleet.machines[0]?.has("old") === true;
beforeEach(async () => {
  fleet = await startAskedFleet();
  home = join(fleet.folder, "home");
  await fleet.upload("web", "/old");
  await fleet.print("assignments", "create", "web", "--selector", "*", "--module", "web");
  await fleet.print("apply", "web-1");
  await fleet.upload("web", "/new");
});

it("a y removes, and the command ends by itself", async () => {
  await using terminal = new Terminal("apply web-1", home);
  await terminal.shows(question);
  expect(hasOld()).toBe(true);
  terminal.type("y\n");
  expect(await terminal.exited()).toBe(0);
  expect(terminal.screen).toContain("apply succeeded (1 removed, 1 changed)");
  expect(hasOld()).toBe(false);
});

it.each([
  ["Ctrl-C", "\u0003"],
  ["Ctrl-C in the middle of an answer", "y\u0003"],
  ["Ctrl-D", "\u0004"],
  ["an empty line", "\n"],
])("%s is a no", async (_, keys) => {
  await using terminal = new Terminal("apply web-1", home);
  await terminal.shows(question);
  terminal.type(keys);
  expect(await terminal.exited()).toBe(1);
  expect(stripVTControlCharacters(terminal.screen)).toMatch(/\r\nfleetwright: Nothing was changed\.\r\n$/);
  expect(hasOld()).toBe(true);
});

it.each([
  ["standard error", "2> FILE"],
  ["standard input", "< /dev/null > FILE"],
])("where %s is no terminal nobody is asked", async (_, redirection) => {
  const file = join(fleet.folder, "redirected");
  await using terminal = new Terminal(`apply web-1 ${redirection.replace("FILE", `'${file}'`)}`, home);
  expect(await terminal.exited()).toBe(0);
  expect(terminal.screen + (existsSync(file) ? readFileSync(file, "utf8") : "")).not.toContain(question);
  expect(hasOld()).toBe(false);
});
