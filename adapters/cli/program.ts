/**
 * The command line as a whole: every noun, the options that all share, and what a failure looks like.
 *
 * Commands are declared in `commands/`, which loads little: help is there at once, and a question to a server needs neither the
 * library nor the server. What needs them is in `work/` and is loaded by the command that does it.
 */
import { createRequire } from "node:module";
import { Command, CommanderError, Option } from "commander";
import type { OutputConfiguration } from "commander";
import { CommandCall } from "./call.ts";
import type { GlobalOptions, Run } from "./call.ts";
import { addAgentCommand } from "./commands/agent.ts";
import { addAgentsCommands } from "./commands/agents.ts";
import { addAssignmentsCommands } from "./commands/assignments.ts";
import { addAuditCommands } from "./commands/audit.ts";
import { addBackupCommands } from "./commands/backup.ts";
import { addChannelsCommands } from "./commands/channels.ts";
import { addCompletionCommands } from "./commands/completion.ts";
import { addDiscoverCommand } from "./commands/discover.ts";
import { addEnrolCommands } from "./commands/enrol.ts";
import { addLocalCommands } from "./commands/local.ts";
import { addManCommand } from "./commands/man.ts";
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
import { addSyncCommands } from "./commands/sync.ts";
import { addTagsCommands } from "./commands/tags.ts";
import { addTerminalCommands } from "./commands/terminal.ts";
import { addThresholdsCommands } from "./commands/thresholds.ts";
import { addWindowsCommands } from "./commands/windows.ts";
import { exitCode } from "./context.ts";
import type { CommandContext, ExitCode } from "./context.ts";
import { describeFailure, toProblemLine, UsageError } from "./failure.ts";
import { refuseNode } from "./node-version.ts";
import { hasNames, isForPrograms, outputFormats, printerOf } from "./output.ts";
import { paintFor } from "./paint.ts";
import { requireProfileName, readProfile, setIn } from "./profile.ts";
import type { ShellExitCode } from "./work/shell-exit-code.ts";

/**
 * Runs the command line.
 *
 * @param args - What stands after the name of the program.
 * @returns The exit code: one of {@link exitCode}, or that of a shell which the command showed. Never rejects.
 */
export async function runCommandLine(args: readonly string[], context: CommandContext): Promise<number> {
  const refusal = refuseNode(process.versions.node);
  if (refusal !== null) {
    context.stderr(refusal);
    return exitCode.failure;
  }
  const paint = paintFor(context);
  const isQuiet = wantsProblems(args);
  let code: ExitCode | ShellExitCode = exitCode.ok;
  const run: Run =
    (work) =>
    async (...given) => {
      const options = program.opts<GlobalOptions>();
      const format = options.output ?? (options.json ? "json" : "table");
      const name = nameOf(given.at(-1));
      if (format === "name" && !hasNames(name))
        throw new UsageError(`\`${name}\` has no names that other commands take: use another --output.`);
      const printing = { format, print: await printerOf(format), paint };
      const own = options.profile === undefined ? context : withProfile(context, options.profile);
      const call = new CommandCall(own, { ...options, json: isForPrograms(format) }, printing);
      code = (await work(call, ...given)) ?? exitCode.ok;
    };
  const program = createProgram(run, {
    writeOut: context.stdout,
    writeErr: isQuiet ? () => {} : context.stderr,
    // As every other error is told.
    outputError: (text, write) => write(text.replace(/^error: /, "fleetwright: ")),
  });
  try {
    await program.parseAsync(args, { from: "user" });
    return code;
  } catch (error) {
    const failure = describeFailure(error);
    const isHelp = error instanceof CommanderError && failure.code === exitCode.ok;
    context.stderr(isQuiet && !isHelp ? toProblemLine(error) : paint.failure(failure.text));
    return failure.code;
  }
}

/** A command as it is typed, without the program, of what commander hands to its action last. */
function nameOf(command: unknown): string {
  const names: string[] = [];
  for (let at = command instanceof Command ? command : null; at?.parent; at = at.parent)
    names.unshift(at.name());
  return names.join(" ");
}

/** A profile that was typed is meant with its server, whatever the environment says. */
function withProfile(context: CommandContext, name: string): CommandContext {
  const { FLEETWRIGHT_URL: _url, ...others } = context.environment;
  const named = { ...context, environment: { ...others, FLEETWRIGHT_PROFILE: requireProfileName(name) } };
  if (setIn(context.environment, "FLEETWRIGHT_URL") === undefined || readProfile(named)) return named;
  return { ...context, environment: { ...context.environment, FLEETWRIGHT_PROFILE: name } };
}

/** Every command with its options, as it is declared. */
export function createProgram(run: Run, output: OutputConfiguration = {}): Command {
  const program = new Command("fleetwright")
    .description("Orchestrates a fleet of machines: declared state, plan and apply, drift, audit.")
    .version(version)
    .addOption(new Option("--json", "print the API's JSON; the same as --output json").conflicts("output"))
    .addOption(
      new Option(
        "-o, --output <format>",
        "how results are printed; wide leaves nothing out, name is for scripts",
      ).choices(outputFormats),
    )
    .option("--url <url>", "where the server is")
    .option(
      "--profile <name>",
      "which profile to use: server, key and session; fleetwright use makes it the usual one",
    )
    .showHelpAfterError("(--help tells more)")
    // Before there are commands: they take these over when they are made.
    .exitOverride()
    .configureOutput(output);
  for (const add of commands) add(program, run);
  return program;
}

/** Before they are parsed: what can't be parsed is told as an object, too. */
function wantsProblems(args: readonly string[]): boolean {
  const end = args.indexOf("--");
  const own = end < 0 ? args : args.slice(0, end);
  return own.some(
    (word, at) =>
      word === "--json" ||
      /^(--output=|-o)json$/.test(word) ||
      (/^(--output|-o)$/.test(word) && own[at + 1] === "json"),
  );
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
  addSyncCommands,
  addCompletionCommands,
  addManCommand,
];
