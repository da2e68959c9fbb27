import type { Command } from "commander";
import { yesOption } from "../ask.ts";
import type { Run } from "../call.ts";
import { gather, gatherTag, integer } from "../options.ts";
import { addStrategyOptions } from "../rollout-options.ts";
import type { CommandRunOptions } from "../run-command.ts";
import { runCommand, showRun } from "../run-command.ts";

/** `fleetwright run` and `fleetwright runs ...` */
export function addRunCommands(program: Command, run: Run): void {
  const command = program
    .command("run")
    .description("run a command on many machines, and tell those together that said the same")
    .argument("[words...]", "after --: a program and its arguments, or one line for the shell")
    .option("--on <selector>", "the agents that it matches; '*' for all")
    .option("--agent <agent>", "this agent; may be given more than once", gather)
    .option("--script <file>", "run a script in place of words; - reads it from the standard input")
    .option("--interpreter <words>", "what reads the script; default /bin/sh -eu")
    .option("--user <name>", "who runs it; default the user of the agent")
    .option("--cwd <folder>", "where it runs; default /")
    .option("--env <name=value>", "a variable; may be given more than once", gatherTag)
    .option("--timeout <seconds>", "end it on a machine after this time; default 300", integer(1, 86_400))
    .option("--override-window", "in spite of maintenance windows; for Admins")
    .option(...yesOption)
    .option("--no-wait", "do not wait for the end");
  addStrategyOptions(command).action(
    run((call, words: string[], options: CommandRunOptions) => runCommand(call, words, options)),
  );
  program
    .command("runs")
    .description("commands on many machines; `rollouts list` lists them")
    .command("show <run>")
    .description("show how far a run is, and what came of it")
    .action(run((call, runId: string) => showRun(call, runId)));
}
