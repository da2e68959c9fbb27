/** The pages for `man`: each renders without a warning, and has what its commands take. */
import { spawnSync } from "node:child_process";
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { pathOf, shownCommands } from "../../../adapters/cli/completion/place.ts";
import { exitCode } from "../../../adapters/cli/context.ts";
import { exitMeanings } from "../../../adapters/cli/man-page.ts";
import { createProgram } from "../../../adapters/cli/program.ts";
import { runIn } from "../../support/command-line.ts";
import { hasPrograms } from "../../support/programs.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const program = createProgram(() => async () => {});

async function writtenPages(): Promise<Map<string, string>> {
  const folder = join(temporaryFolder(), "man1");
  expect(await runIn(temporaryFolder(), ["man", "--write", folder])).toMatchObject({ code: 0, stdout: "" });
  return new Map(readdirSync(folder).map((name) => [name, readFileSync(join(folder, name), "utf8")]));
}

/** As somebody would search a page: escapes of roff undone. */
const plain = (page: string): string => page.replaceAll("\\-", "-").replaceAll("\\e", "\\");

it("there is one for the program and each of its commands, with every option and exit code", async () => {
  const pages = await writtenPages();
  const commands = shownCommands(program);
  const names = commands.map((each) => `fleetwright-${each.name()}.1`);
  expect([...pages.keys()].toSorted()).toEqual(["fleetwright.1", ...names].toSorted());
  const missing: string[] = [];
  for (const command of commands) {
    const page = plain(pages.get(`fleetwright-${command.name()}.1`)!);
    for (const each of [command, ...shownCommands(command)]) {
      if (!page.includes(`.B fleetwright ${pathOf(each)}`)) missing.push(pathOf(each));
      for (const { flags, hidden } of each.options)
        if (!hidden && !page.includes(`.B ${flags}\n`)) missing.push(`${pathOf(each)} ${flags}`);
    }
    for (const code of Object.values(exitCode))
      if (!page.includes(`.TP\n.B ${code}\n`)) missing.push(`${command.name()}: exit code ${code}`);
  }
  expect(missing).toEqual([]);
  expect((await runIn(temporaryFolder(), ["man", "agents"])).stdout).toBe(pages.get("fleetwright-agents.1"));
  expect(await runIn(temporaryFolder(), ["man", "agents", "--write", "/nowhere"])).toMatchObject({ code: 2 });
  expect(await runIn(temporaryFolder(), ["man", "--write", "/dev/null"])).toMatchObject({
    code: 2,
    stderr: "fleetwright: /dev/null can't be written (EEXIST).\n",
  });
});

it("exit codes mean on them what the documentation says", () => {
  const page = readFileSync(join(import.meta.dirname, "../../../docs/command-line.md"), "utf8");
  const told = [...page.matchAll(/^\| (\d+) +\| (.+?) +\|$/gm)].map(([, code, meaning]) => [
    Number(code),
    meaning,
  ]);
  const meanings = Object.entries(exitMeanings).map(([name, meaning]) => [
    exitCode[name as keyof typeof exitCode],
    meaning,
  ]);
  expect(meanings).toEqual(told);
});

it.skipIf(!hasPrograms("pages for man", "groff"))("none has what groff warns of", async () => {
  const warned = [...(await writtenPages())].flatMap(([name, input]) => {
    const { stderr } = spawnSync("groff", ["-man", "-Tutf8", "-ww"], { input, encoding: "utf8" });
    return stderr === "" ? [] : [`${name}: ${stderr}`];
  });
  expect(warned).toEqual([]);
});
