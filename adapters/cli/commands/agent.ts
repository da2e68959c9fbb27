import { Option, type Command } from "commander";
import type { Run } from "../call.ts";
import { logLevelOption } from "../log-level.ts";
import type { AgentOptions } from "../work/agent.ts";

/** `fleetwright agent` */
export function addAgentCommand(program: Command, run: Run): void {
  program
    .command("agent")
    .description("run the agent of this machine; --url names its orchestrator")
    .option(
      "--discover [port]",
      "in place of --url: wait for an orchestrator that announces itself, at UDP port 4747",
    )
    .option("--orchestrator-key <hex>", "the key to obey; default the first that answers, for good")
    .addOption(
      new Option(
        "--token <token>",
        "an enrolment token, which approves this agent; `ps` shows it to other users of the machine",
      ).conflicts("tokenFile"),
    )
    .option("--token-file <file>", "what holds it; else it is FLEETWRIGHT_ENROLMENT_TOKEN of the environment")
    .option("--state-dir <folder>", "the agent's own folder; default agent in the user's configuration")
    .option("--root <folder>", "folder that stands for / in file resources, for trials and tests")
    .option("--no-commands", "let nobody run commands on this machine")
    .option("--no-terminals", "let nobody open a terminal on this machine")
    .option("--terminal-user <name>", "the user that terminals run as; default that of the agent")
    .option("--terminal-shell <path>", "what terminals run; default that user's shell")
    .addOption(logLevelOption())
    .action(
      run(async (call, options: AgentOptions) => (await import("../work/agent.ts")).runAgent(call, options)),
    );
}
