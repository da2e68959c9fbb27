import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { Argument } from "commander";
import type { Command } from "commander";
import { codeOf } from "../../client/system-error.ts";
import { makeFolders } from "../../sync/make-folders.ts";
import type { Run } from "../call.ts";
import { shownCommands } from "../completion/place.ts";
import { UsageError } from "../failure.ts";
import { manPage } from "../man-page.ts";

/** `fleetwright man`. Added last: there is a page for each command before it, and its own. */
export function addManCommand(program: Command, run: Run): void {
  const man = program.command("man");
  const pages = shownCommands(program);
  man
    .description("print a page for man, of the whole or of one command: fleetwright man agents | man -l -")
    .addArgument(new Argument("[command]").choices(pages.map((each) => each.name())))
    .option("--write <folder>", "write all pages into a folder, such as one that packages bring")
    .action(
      run(async ({ context }, name: string | undefined, { write }: { write?: string }) => {
        if (write !== undefined && name !== undefined)
          throw new UsageError("--write writes all pages: name no command.");
        const named = pages.find((each) => each.name() === name);
        if (write === undefined) return context.stdout(manPage(program, named));
        try {
          writePages(write, program, pages);
        } catch (error) {
          throw new UsageError(`${write} can't be written (${codeOf(error)}).`);
        }
      }),
    );
}

function writePages(folder: string, program: Command, commands: readonly Command[]): void {
  makeFolders(folder);
  const place = (name: string): string => join(folder, `${name}.1`);
  writeFileSync(place(program.name()), manPage(program));
  for (const command of commands)
    writeFileSync(place(`${program.name()}-${command.name()}`), manPage(program, command));
}
