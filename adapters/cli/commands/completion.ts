import { Argument } from "commander";
import type { Command } from "commander";
import type { Run } from "../call.ts";
import { answerCompletion } from "../completion/answer.ts";
import { completionScripts, shellNames } from "../completion/scripts.ts";
import type { ShellName } from "../completion/scripts.ts";
import { integer } from "../options.ts";

/** `fleetwright completion`, and `fleetwright complete`, which its scripts call. */
export function addCompletionCommands(program: Command, run: Run): void {
  const shell = (): Argument => new Argument("<shell>").choices(shellNames);
  program
    .command("completion")
    .description("print what makes a shell complete commands, options and names: bash, zsh or fish")
    .addArgument(shell())
    .action(run(async ({ context }, name: ShellName) => context.stdout(completionScripts[name])));
  program
    .command("complete", { hidden: true })
    .description("tell a shell what may stand at the end of a line")
    .addArgument(shell())
    .argument("[words...]")
    .option("--kept <n>", "characters of the last word that stay", integer(0, 1_000_000))
    .action(
      run(async ({ context }, ...given: [ShellName, string[], { kept?: number }]) => {
        const [name, words, { kept = 0 }] = given;
        context.stdout(await answerCompletion(program, context, { shell: name, words, kept }));
      }),
    );
}
