/**
 * `fleetwright-agent`: the agent alone, which `npm run build:agent` makes one file of. It takes what `fleetwright agent` takes, and has
 * nothing of the client and the server in it.
 */
import { Command } from "commander";
import { agentVersion } from "fleetwright/agent";
import { agentOptions } from "./commands/agent.ts";
import { describeFailure } from "./failure.ts";
import { processContext } from "./process-context.ts";
import type { AgentOptions } from "./work/agent-options.ts";
import { runAgent } from "./work/agent.ts";

type Options = AgentOptions & { url?: string; json?: boolean };

const program = new Command("fleetwright-agent")
  .description("Runs the agent of this machine for its Fleetwright server.")
  .version(agentVersion)
  .option("--url <url>", "where the server is")
  .option("--json", "print what is said at the start as JSON")
  .showHelpAfterError("(--help tells more)")
  .exitOverride()
  .action(async ({ url, json = false, ...options }: Options) => {
    const show = (value: unknown, text: () => string): void =>
      processContext.stdout(json ? `${JSON.stringify(value, null, 2)}\n` : text());
    const call = { context: processContext, options: url === undefined ? {} : { url }, show };
    await runAgent(call, options);
  });
for (const option of agentOptions()) program.addOption(option);

program.parseAsync().then(
  () => leave(),
  (error: unknown) => {
    const { text, code } = describeFailure(error, program.name());
    processContext.stderr(text);
    process.exitCode = code;
    leave();
  },
);

/** Who does not read the log holds up no end. */
function leave(): void {
  setTimeout(() => process.exit(), 1_000).unref();
}
