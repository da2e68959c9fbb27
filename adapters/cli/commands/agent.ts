import { Option, type Command } from "commander";
import type { Run } from "../call.ts";
import { logLevelOption } from "../log-level.ts";
import type { AgentOptions } from "../work/agent-options.ts";

/** `fleetwright agent` */
export function addAgentCommand(program: Command, run: Run): void {
  const command = program
    .command("agent")
    .description("run the agent of this machine; --url names its orchestrator");
  for (const option of agentOptions()) command.addOption(option);
  command.action(
    run(async (call, options: AgentOptions) => (await import("../work/agent.ts")).runAgent(call, options)),
  );
}

/** What the agent takes beside `--url`, under `fleetwright agent` and as a program of its own. */
export function agentOptions(): Option[] {
  return [
    new Option(
      "--config <file>",
      "file with lines such as `url = https://...`, the names being those of these options; what is given here comes first",
    ),
    new Option(
      "--discover [port]",
      "in place of --url: wait for an orchestrator that announces itself, at UDP port 4747",
    ),
    new Option("--orchestrator-key <hex>", "the key to obey; default the first that answers, for good"),
    new Option(
      "--token <token>",
      "an enrolment token, which approves this agent; `ps` shows it to other users of the machine",
    ).conflicts("tokenFile"),
    new Option(
      "--token-file <file>",
      "what holds it; else it is FLEETWRIGHT_ENROLMENT_TOKEN of the environment",
    ),
    new Option("--ca-file <file>", "authority of the server's certificate, PEM, in place of the usual ones"),
    new Option("--state-dir <folder>", "the agent's own folder; default agent in the user's configuration"),
    new Option("--root <folder>", "folder that stands for / in file resources, for trials and tests"),
    new Option("--no-commands", "let nobody run commands on this machine"),
    new Option("--no-terminals", "let nobody open a terminal on this machine"),
    new Option("--terminal-user <name>", "the user that terminals run as; default that of the agent"),
    new Option("--terminal-shell <path>", "what terminals run; default that user's shell"),
    logLevelOption(),
  ];
}
