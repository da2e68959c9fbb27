/** What each option has a command ask the server for: the whole of the request, so that none says what another means. */
import type { Command } from "commander";
import { expect, it } from "vitest";
import { pathOf } from "../../../adapters/cli/completion/place.ts";
import { createProgram } from "../../../adapters/cli/program.ts";
import { runIn } from "../../support/command-line.ts";
import { recordRequests, refuseWrite } from "../../support/sent-requests.ts";
import { sentRows, type SentRow } from "../../support/sent-rows.ts";
import { startSentScene } from "../../support/sent-scene.ts";

/** Options that no request says anything of, or that other tests are about, with where. */
const exceptions: Readonly<Record<string, readonly string[]>> = {
  "what is done without a server, or what a program is started with": [
    "serve",
    "agent",
    "init",
    "login",
    "local plan",
    "local apply",
    "local drift",
    "sync plan",
    "sync apply",
    "sync export",
    "backup verify",
    "restore",
    "complete",
    "completion",
    "man",
  ],
  "what needs a terminal or plays what one showed: terminal.test.ts, and what is exported: audit.test.ts": [
    "terminal open",
    "terminal replay",
    "audit verify",
    "audit head",
    "audit export",
    "audit prune",
  ],
};

const excepted = new Set(Object.values(exceptions).flat());

/** Answers to questions, which sure.test.ts is about; and whether a command waits, which wait.test.ts is about. */
const unsent: ReadonlySet<string> = new Set(["--yes", "--no-wait"]);

it("each option of each command is in a row, but for those that are named here with a reason", () => {
  const given = new Set(sentRows.flatMap(optionsOf));
  const missing = commandsOf(createProgram(() => () => Promise.resolve())).flatMap((command) => {
    const path = pathOf(command);
    if (excepted.has(path)) return [];
    const options = command.options.map(({ long }) => long ?? "").filter((long) => !unsent.has(long));
    return options.map((long) => `${path} ${long}`).filter((option) => !given.has(option));
  });
  expect(missing).toEqual([]);
});

it("each row asks for what it says, and for nothing else", async () => {
  const { scene, wordsOf, fill } = await startSentScene();
  const sent = recordRequests({ write: refuseWrite });
  const faults: Record<string, unknown> = {};
  for (const { line, to, input, typed } of sentRows) {
    sent.length = 0;
    const { stderr } = await runIn(scene.folder, wordsOf(line), scene.server.url, typed ?? "");
    const wanted = { to: fill(to), input: JSON.parse(fill(JSON.stringify(input))) as unknown };
    const found = sent.filter((each) => each.to === wanted.to).map((each) => each.input);
    try {
      expect(found, stderr + JSON.stringify(sent)).toContainEqual(wanted.input);
    } catch {
      faults[line] = { wanted, sent: [...sent], stderr };
    }
  }
  expect(faults).toEqual({});
}, 240_000);

function optionsOf({ line }: SentRow): string[] {
  const words = line.split(" -- ")[0]!.split(" ");
  const at = words.findIndex((word) => word.startsWith("-"));
  const options = words.filter((word) => word.startsWith("--"));
  const path = words.slice(0, at < 0 ? words.length : at);
  // What stands behind the command are its arguments.
  return path.flatMap((_, end) => options.map((long) => `${path.slice(0, end + 1).join(" ")} ${long}`));
}

function commandsOf({ commands }: Command): Command[] {
  return commands.flatMap((command) => [command, ...commandsOf(command)]);
}
