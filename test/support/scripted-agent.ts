import { nodeCrypto, systemClock, silentLogger } from "fleetwright";
import type { Clock } from "fleetwright";
import type { TestOrchestrator } from "fleetwright/testing";
import { createAgentLink, type AgentLink } from "../../lib/agent/agent-link.ts";
import { nodeIdOf } from "../../lib/crypto/encoding.ts";
import type { AgentMessage, MessageOf, OrchestratorMessage } from "../../lib/wire/messages.ts";
import { settle } from "./deferred.ts";

type Command = Exclude<OrchestratorMessage, { type: "status" }>;

/** An agent that speaks the protocol and otherwise does what a test tells it: also what no honest agent would do. */
export interface ScriptedAgent extends AsyncDisposable {
  nodeId: string;
  link: AgentLink;
  /** Every command so far. */
  commands: Command[];
  /** What was typed into its terminals so far, piece by piece; it says of none that it took it. */
  typed: Uint8Array[];
  /** Resolves with the first command of a type that was not asked for before, and is no question. */
  next<Type extends Command["type"]>(type: Type): Promise<MessageOf<Command, Type>>;
  /** The same of questions about operations: each is the command of one, whose time was never. */
  nextQuestion<Type extends Command["type"]>(type: Type): Promise<MessageOf<Command, Type>>;
}

/** Connects a scripted agent and waits until it is there. Its heart beats by `clock`. */
export async function connectScriptedAgent(
  test: TestOrchestrator,
  keys = { signing: nodeCrypto.createSigningKeyPair(), box: nodeCrypto.createExchangeKeyPair() },
  clock: Clock = systemClock,
): Promise<ScriptedAgent & { keys: typeof keys }> {
  const commands: Command[] = [];
  const typed: Uint8Array[] = [];
  const taken = new Set<Command>();
  const waiting = new Set<() => void>();
  let accept = (): void => {};
  const accepted = new Promise<void>((resolve) => (accept = resolve));
  const link = createAgentLink({
    dial: () => Promise.resolve(test.transport.connect()),
    clock,
    crypto: nodeCrypto,
    random: () => 0,
    logger: silentLogger,
    identity: { signer: nodeCrypto.createSigner(keys.signing.secretKey), boxPublicKey: keys.box.publicKey },
    pin: { get: () => null, set: () => Promise.resolve() },
    description: { agent_version: "0.0.0", hostname: "scripted", platform: "linux" },
    handlers: {
      accepted: () => accept(),
      statusChanged: () => {},
      command(command) {
        commands.push(command);
        for (const wake of waiting) wake();
        waiting.clear();
        return Promise.resolve();
      },
      stream(_session, bytes) {
        typed.push(bytes.slice());
        return Promise.resolve();
      },
      down: () => {},
    },
  });
  async function next<Type extends Command["type"]>(type: Type, passes: (command: Command) => boolean) {
    for (;;) {
      const found = commands.find((each) => each.type === type && passes(each) && !taken.has(each));
      if (found) {
        taken.add(found);
        return found as MessageOf<Command, Type>;
      }
      await new Promise<void>((resolve) => void waiting.add(resolve));
    }
  }
  link.start();
  await accepted;
  // "accepted" leaves the orchestrator before the agent counts as connected there.
  await settle();
  return {
    nodeId: nodeIdOf(keys.signing.publicKey, nodeCrypto),
    link,
    keys,
    commands,
    typed,
    next: (type) => next(type, (command) => !isQuestion(command)),
    nextQuestion: (type) => next(type, isQuestion),
    [Symbol.asyncDispose]: () => link.stop(),
  };
}

function isQuestion(command: Command): boolean {
  return "not_after" in command && Date.parse(command.not_after) === 0;
}

/** The result of an operation that changed nothing. */
export function emptyResult(operationId: string): MessageOf<AgentMessage, "result"> {
  const at = "2030-01-01T00:00:00.000Z";
  return {
    type: "result",
    operation_id: operationId,
    status: "succeeded",
    results: [],
    output: [],
    started_at: at,
    finished_at: at,
    duration_ms: 1,
  };
}
