import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { type AgentOptions as ProgramOptions, type AgentProgram, createAgent } from "fleetwright/agent";
import { isOrchestratorError, OrchestratorError, type ErrorCode } from "fleetwright/errors";
import { codeOf } from "../../client/system-error.ts";
import type { CommandCall } from "../call.ts";
import type { CommandContext } from "../context.ts";
import { UsageError } from "../failure.ts";
import { homeFolder, setIn } from "../profile.ts";
import { toFacts } from "../text.ts";
import { readAgentConfig, type AgentConfig, type ReadConfig } from "./agent-config.ts";
import type { AgentOptions } from "./agent-options.ts";
import { toPlace } from "./agent-place.ts";
import { findToken } from "./agent-token.ts";
import { createLogger } from "./logger.ts";

/** What the agent uses of a run of a command. */
interface AgentCall extends Pick<CommandCall, "context" | "options"> {
  show(value: unknown, text: () => string): void;
}

/**
 * Runs the agent of this machine until it is told to stop.
 *
 * @param given - What was given with the command; it comes before the file that `config` names.
 */
export async function runAgent(call: AgentCall, given: AgentOptions): Promise<void> {
  const { context } = call;
  const { options, places } = await withConfig(call, given);
  const place = toPlace(options, setIn(context.environment, "FLEETWRIGHT_URL"));
  refuseEmpty("--root", options.root);
  refuseEmpty("--state-dir", options.stateDir);
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
    ...(options.caFile !== undefined && { tls: { ca: readAuthority(options.caFile, places.get("caFile")) } }),
  });
  await agent.start().catch((error: unknown) => {
    throw withPlace(error, places);
  });
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

/** The folder that a script has from something that is missing is neither this one nor `/`. */
function refuseEmpty(option: string, folder: string | undefined): void {
  if (folder === "") throw new UsageError(`${option} is empty.`);
}

/** Read as it is now: an agent that is to trust another authority is started again. */
function readAuthority(path: string, place = "--ca-file"): string {
  try {
    const text = readFileSync(path, "utf8");
    // TLS would take what is no certificate, and trust nobody.
    void new X509Certificate(text).subject;
    return text;
  } catch (error) {
    throw new UsageError(`${place} ${path} is no certificate that can be read (${codeOf(error)}).`);
  }
}

/** Which option may be wrong where the agent does not start. */
const startFaults: Partial<Record<ErrorCode, keyof AgentConfig>> = {
  KEY_REFUSED: "orchestratorKey",
  ORCHESTRATOR_KEY_CHANGED: "orchestratorKey",
  CONFIGURATION_INVALID: "root",
};

/** Tells in which file and line an option stands that was refused at the start. */
function withPlace(error: unknown, places: ReadConfig["places"]): unknown {
  if (!isOrchestratorError(error)) return error;
  const name = startFaults[error.code];
  const place = name && places.get(name);
  if (place === undefined) return error;
  const { code, message, details } = error;
  return new OrchestratorError(code, { message: `${place}: ${message}`, details, cause: error });
}

/** Adds what the file says. A way to the server that was given replaces that of the file. */
async function withConfig(
  { context, options: { url } }: AgentCall,
  given: AgentOptions,
): Promise<{ options: AgentOptions & { url?: string }; places: ReadConfig["places"] }> {
  const none: ReadConfig = { options: {}, places: new Map() };
  const read = given.config === undefined ? none : await readAgentConfig(context, given.config);
  const file = { ...read.options };
  if (url !== undefined || given.discover !== undefined) {
    delete file.url;
    delete file.discover;
  }
  const { commands = true, terminals = true, ...others } = given;
  const places = new Map([...read.places].filter(([name]) => !(name in others)));
  const options = {
    ...file,
    ...others,
    commands: commands && file.commands !== false,
    terminals: terminals && file.terminals !== false,
    ...(url !== undefined && { url }),
  };
  return { options, places };
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
