import { join, resolve } from "node:path";
import { type AgentOptions as ProgramOptions, type AgentProgram, createAgent } from "fleetwright/agent";
import type { CommandCall } from "../call.ts";
import type { CommandContext } from "../context.ts";
import { UsageError } from "../failure.ts";
import type { LogLevel } from "../log-level.ts";
import { homeFolder } from "../profile.ts";
import { toFacts } from "../text.ts";
import { findToken, type TokenOptions } from "./agent-token.ts";
import { createLogger } from "./logger.ts";

/** Options of `fleetwright agent`. */
export interface AgentOptions extends TokenOptions {
  discover?: boolean | string;
  orchestratorKey?: string;
  stateDir?: string;
  root?: string;
  commands?: boolean;
  terminals?: boolean;
  terminalUser?: string;
  terminalShell?: string;
  logLevel?: LogLevel;
}

/** Runs the agent of this machine until it is told to stop. */
export async function runAgent(call: CommandCall, options: AgentOptions): Promise<void> {
  const { context } = call;
  const place = toPlace(call.options.url ?? context.environment["FLEETWRIGHT_URL"], options.discover);
  const stateDir = resolve(options.stateDir ?? join(homeFolder(context), "agent"));
  const logger = createLogger(context, options.logLevel ?? "info");
  const { token, warning } = await findToken(context, options);
  if (warning !== undefined) logger.warn(warning);
  const agent = createAgent({
    ...place,
    stateDir,
    logger,
    ...(token !== undefined && { enrolmentToken: token }),
    commands: options.commands ?? true,
    terminals: terminalsOf(options),
    ...(options.root !== undefined && { root: resolve(options.root) }),
    ...(options.orchestratorKey !== undefined && { orchestratorKey: options.orchestratorKey }),
  });
  await agent.start();
  try {
    // Heard from before the first line: whoever reads it may stop the agent at once.
    const stopped = context.untilStopped();
    const { url = "the one that announces itself" } = place;
    const told = { node_id: agent.nodeId, url, state_dir: stateDir, root: options.root };
    call.show(told, () =>
      toFacts([
        ["Node", told.node_id],
        ["Orchestrator", told.url],
        ["State folder", told.state_dir],
        ["Root", told.root],
      ]),
    );
    await stopped;
  } finally {
    await stopAgent(agent, context);
  }
}

function terminalsOf({
  terminals,
  terminalUser: user,
  terminalShell: shell,
}: AgentOptions): ProgramOptions["terminals"] & {} {
  if (terminals === false) return false;
  return { ...(user !== undefined && { user }), ...(shell !== undefined && { shell }) };
}

/** Stops an agent after the change in progress; at once, with the program that runs, where another signal comes meanwhile. */
export async function stopAgent(agent: AgentProgram, context: CommandContext): Promise<void> {
  const done = new AbortController();
  const hurried = context.untilHurried(done.signal).then(async () => {
    if (!done.signal.aborted) await agent.stop({ now: true });
  });
  await agent.stop().finally(() => done.abort());
  await hurried;
}

/** Where the orchestrator is, or that it is to announce itself. */
function toPlace(
  url: string | undefined,
  discover: boolean | string | undefined,
): Pick<ProgramOptions, "url" | "discover"> {
  if (discover === undefined || discover === false) return { url: toAgentUrl(url) };
  if (url !== undefined) throw new UsageError("--url and --discover are two ways to the same end: give one.");
  if (discover === true) return { discover };
  const port = /^\d{1,5}$/.test(discover) ? Number(discover) : 0;
  if (port < 1 || port > 65_535) throw new UsageError("--discover takes a UDP port, 1 to 65535.");
  return { discover: { port } };
}

/** The address of the server will do: the protocol and the path of agents are added. */
function toAgentUrl(text: string | undefined): string {
  if (text === undefined) throw new UsageError("--url or --discover is missing: where is the orchestrator?");
  const url = URL.canParse(text) ? new URL(text) : null;
  if (!url || !/^(ws|http)s?:$/.test(url.protocol)) {
    throw new UsageError(`${JSON.stringify(text)} is no ws, wss, http or https address.`);
  }
  const path = url.pathname === "/" ? "/agent/v1" : url.pathname;
  return `${url.protocol.replace("http", "ws")}//${url.host}${path}`;
}
