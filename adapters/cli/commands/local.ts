import type { Command } from "commander";
import { yesOption } from "../ask.ts";
import type { Run } from "../call.ts";
import { logLevelOption } from "../log-level.ts";
import { gatherTag, integer, paramOption } from "../options.ts";
import type { LocalOptions, LocalRunOptions } from "../work/local.ts";

/** `fleetwright local ...` */
export function addLocalCommands(program: Command, run: Run): void {
  const local = program.command("local").description("this machine alone, without a server");
  for (const kind of ["plan", "apply"] as const) {
    const command = local
      .command(kind === "plan" ? "plan <file...>" : "apply [file...]")
      .description(
        kind === "plan"
          ? "tell what an apply of these modules would change; - is standard input"
          : "make this machine what these modules say, and take back what an earlier one said",
      )
      .option(...paramOption)
      .option(
        "--tag <key=value>",
        "a tag of this machine, for conditions; may be given more than once",
        gatherTag,
      )
      .option("--timeout <seconds>", "how long it may run", integer(1, 86_400));
    if (kind === "apply") {
      command
        .option("--allow-empty", "take everything back, where nothing is desired any more")
        .option(...yesOption);
    }
    addSharedOptions(command).action(
      run(async (call, files: string[], options: LocalRunOptions) =>
        (await import("../work/local.ts")).runLocal(call, { kind, files, options }),
      ),
    );
  }
  addSharedOptions(
    local.command("drift").description("compare this machine with its last successful apply"),
  ).action(
    run(async (call, options: LocalOptions) =>
      (await import("../work/local.ts")).checkLocalDrift(call, options),
    ),
  );
}

function addSharedOptions(command: Command): Command {
  return command
    .option("--state-dir <folder>", "keeps what was applied; default local in the user's configuration")
    .option("--root <folder>", "folder that stands for / in file resources, for trials and tests")
    .addOption(logLevelOption());
}
