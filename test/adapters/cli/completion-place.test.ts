/** What may stand at a place of a line, as the parser would take the words before it. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { placeIn } from "../../../adapters/cli/completion/place.ts";
import { createProgram } from "../../../adapters/cli/program.ts";
import { runIn } from "../../support/command-line.ts";
import { recordAnswers } from "../../support/sent-requests.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const program = createProgram(() => async () => {});
const at = (line: string) => {
  const { words, source, command } = placeIn(program, line.split(" "));
  return { words: words.map(({ word }) => word), source, command };
};

test.each([
  ["backup ", "files", "backup"],
  ["backup -", null, "backup"],
  ["modules upload a ", "files", "modules upload"],
  ["modules upload - ", "files", "modules upload"],
  ["agents replace a ", "agents", "agents replace"],
  ["state forget a ", null, "state forget"],
  ["man --write ", "folders", "man"],
  ["apply --plan ", "operations", "apply"],
  ["apply --plan x ", "agents", "apply"],
  ["secrets set --node ", "agents", "secrets set"],
])("behind %j come names of %s", (line, source, command) => {
  expect(at(line)).toMatchObject({ source, command });
});

test.each([
  // The one argument there is was given: a dash is one, and so is what is called as a command is.
  ["backup - ", "--url", "--unsigned"],
  ["backup verify verify ", "--unsigned", "--write"],
  ["backup x verify ", "--url", "--unsigned"],
  // Its value may be left out.
  ["agent --discover ", "--config", "--unsigned"],
  ["agent --discover --", "--config", "--unsigned"],
])("behind %j come options", (line, there, other) => {
  const { words, source } = at(line);
  expect(words).toContain(there);
  expect(words).not.toContain(other);
  expect(source).toBeNull();
});

test.each(["channels create ", "agents list --search ", "tags set a ", "agent -- "])(
  "behind %j nobody knows what comes, and no option can",
  (line) => expect(at(line)).toMatchObject({ words: [], source: null }),
);

test("names that a shell or a command would take for something else are not told", async () => {
  const hostnames = ["web-1", "-rf", "--yes", "", "a\u001b[2J", "b\u2028c", "d\ne", "ü-2"];
  recordAnswers(() =>
    Response.json({
      items: hostnames.map((hostname) => ({ hostname, node_id: "0", status: "pending" })),
      next_cursor: null,
    }),
  );
  const folder = temporaryFolder();
  mkdirSync(join(folder, "home"));
  const profile = { url: "http://fleet.example", key: "/none", token: "t" };
  writeFileSync(join(folder, "home", "profile.json"), JSON.stringify(profile));
  const { stdout } = await runIn(folder, ["complete", "zsh", "--", "agents", "show", ""]);
  expect(stdout).toBe("nothing\nweb-1\tpending\nü-2\tpending\n");
});

test("profiles are told by their files, and nothing else that lies there", async () => {
  const folder = temporaryFolder();
  mkdirSync(join(folder, "home", "profiles"), { recursive: true });
  for (const name of ["lab.json", "lab.json.4711", "b.c.json", "notes", "old.jsonx"])
    writeFileSync(join(folder, "home", "profiles", name), "{}");
  const { stdout } = await runIn(folder, ["complete", "zsh", "--", "use", ""]);
  expect(stdout.trimEnd().split("\n").toSorted()).toEqual(["b.c", "default", "lab", "nothing"]);
});
