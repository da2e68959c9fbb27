/**
 * The command line as a whole: every noun, the options that all share, and what a failure looks like.
 *
 * Commands are declared in `commands/`, which loads little: help is there at once, and a question to a server needs neither the
 * library nor the server. What needs them is in `work/` and is loaded by the command that does it.
 */
import { createRequire } from "node:module";
import { Command } from "commander";
import { CommandCall } from "./call.ts";
import type { GlobalOptions, Run } from "./call.ts";
import { addAgentCommand } from "./commands/agent.ts";
import { addAgentsCommands } from "./commands/agents.ts";
import { addAssignmentsCommands } from "./commands/assignments.ts";
import { addAuditCommands } from "./commands/audit.ts";
import { addBackupCommands } from "./commands/backup.ts";
import { addChannelsCommands } from "./commands/channels.ts";
import { addDiscoverCommand } from "./commands/discover.ts";
import { addEnrolCommands } from "./commands/enrol.ts";
import { addLocalCommands } from "./commands/local.ts";
import { addMetricsCommand } from "./commands/metrics.ts";
import { addModulesCommands } from "./commands/modules.ts";
import { addNotificationsCommands } from "./commands/notifications.ts";
import { addOperationsCommands } from "./commands/operations.ts";
import { addOperatorsCommands } from "./commands/operators.ts";
import { addResumeCommand } from "./commands/resume.ts";
import { addRolloutsCommands } from "./commands/rollouts.ts";
import { addRunCommands } from "./commands/run.ts";
import { addSecretsCommands } from "./commands/secrets.ts";
import { addServeCommand } from "./commands/serve.ts";
import { addSessionCommands } from "./commands/session.ts";
import { addStateCommands } from "./commands/state.ts";
import { addTagsCommands } from "./commands/tags.ts";
import { addTerminalCommands } from "./commands/terminal.ts";
import { addThresholdsCommands } from "./commands/thresholds.ts";
import { addWindowsCommands } from "./commands/windows.ts";
import { exitCode } from "./context.ts";
import type { CommandContext, ExitCode } from "./context.ts";
import { describeFailure } from "./failure.ts";
import { refuseNode } from "./node-version.ts";

/**
 * Runs the command line.
 *
 * @param args - What stands after the name of the program.
 * @returns The exit code; never rejects.
 */
export async function runCommandLine(args: readonly string[], context: CommandContext): Promise<ExitCode> {
  const refusal = refuseNode(process.versions.node);
  if (refusal !== null) {
    context.stderr(refusal);
    return exitCode.failure;
  }
  let code: ExitCode = exitCode.ok;
  const program = new Command("fleetwright")
    .description("Orchestrates a fleet of machines: declared state, plan and apply, drift, audit.")
    .version(version)
    .option("--json", "print the API's JSON")
    .option("--url <url>", "where the server is")
    .showHelpAfterError("(--help tells more)")
    .exitOverride()
    .configureOutput({ writeOut: context.stdout, writeErr: context.stderr });
  const run: Run =
    (work) =>
    async (...given) => {
      code = (await work(new CommandCall(context, program.opts<GlobalOptions>()), ...given)) ?? exitCode.ok;
    };
  for (const add of commands) add(program, run);
  try {
    await program.parseAsync(args, { from: "user" });
    return code;
  } catch (error) {
    const failure = describeFailure(error);
    context.stderr(failure.text);
    return failure.code;
  }
}

const { version } = createRequire(import.meta.url)("fleetwright/package.json") as { version: string };

const commands = [
  addServeCommand,
  addAgentCommand,
  addSessionCommands,
  addAgentsCommands,
  addDiscoverCommand,
  addEnrolCommands,
  addTagsCommands,
  addModulesCommands,
  addSecretsCommands,
  addAssignmentsCommands,
  addStateCommands,
  addMetricsCommand,
  addThresholdsCommands,
  addLocalCommands,
  addRunCommands,
  addRolloutsCommands,
  addOperationsCommands,
  addTerminalCommands,
  addOperatorsCommands,
  addWindowsCommands,
  addNotificationsCommands,
  addChannelsCommands,
  addAuditCommands,
  addBackupCommands,
  addResumeCommand,
];
