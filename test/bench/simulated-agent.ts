/** Agents without a machine: they speak the real protocol and answer every plan, apply, check and run at once, as if all were in order. */
import { createHash } from "node:crypto";
import type { FrameSocket, ResourceResult } from "fleetwright";

const { nodeCrypto, silentLogger, systemClock } = await import("fleetwright");
const { createAgentLink } = await import("../../lib/agent/agent-link.ts");
type Link = ReturnType<typeof createAgentLink>;

/** How a {@link createSimulatedAgent} is made. */
export interface SimulatedAgentOptions {
  /** Tells agents apart: the same number has the same key in every process. */
  number: number;
  /** What it finds with each plan or apply. */
  results: readonly ResourceResult[];
  dial: () => Promise<FrameSocket>;
  /** Called when the orchestrator has taken it in. */
  onAccepted?: () => void;
  /** Called when a connection, or the attempt to make one, has ended. */
  onDown?: (ending: { message: string }) => void;
}

/** The commands that it does. */
const answered: ReadonlySet<string> = new Set(["plan", "apply", "check", "run"]);

/** The secret of an agent's key. */
export function seedOf(number: number): Uint8Array {
  return createHash("sha256").update(`agent ${number}`).digest();
}

/** What an agent finds where this many files are as they should be. */
export function createResults(count: number): ResourceResult[] {
  return Array.from({ length: count }, (_, index) => ({
    module: "base",
    resource_id: `file:/etc/base/${index}.conf`,
    type: "file",
    identity: `/etc/base/${index}.conf`,
    outcome: "unchanged",
    action: "none",
    changes: [],
    caused_by: [],
    attempts: 1,
    duration_ms: 1,
  }));
}

/** The text of the module with these resources. */
export function createModule(results: readonly ResourceResult[]): string {
  const lines = results.map(
    ({ identity }) => `  - { type: file, path: ${identity}, content: "${"x".repeat(500)}" }\n`,
  );
  return `name: base\nresources:\n${lines.join("")}`;
}

/** Makes an agent; `start` has it connect. */
export function createSimulatedAgent(options: SimulatedAgentOptions): Link {
  const { number, results, dial, onAccepted, onDown } = options;
  let pinned: Uint8Array | null = null;
  const link: Link = createAgentLink({
    clock: systemClock,
    crypto: nodeCrypto,
    identity: {
      signer: nodeCrypto.createSigner(seedOf(number)),
      boxPublicKey: nodeCrypto.createExchangeKeyPair().publicKey,
    },
    pin: { get: () => pinned, set: async (key) => void (pinned = key) },
    description: { agent_version: "0.1.0", hostname: `machine-${number}`, platform: "linux" },
    logger: silentLogger,
    random: Math.random,
    dial,
    handlers: {
      accepted: () => onAccepted?.(),
      statusChanged() {},
      async command(message) {
        if (!answered.has(message.type) || !("operation_id" in message)) return;
        const { id, operation_id } = message;
        const at = new Date().toISOString();
        link.send({ type: "reply", id });
        const times = { started_at: at, finished_at: at, duration_ms: 1 };
        link.send({
          type: "result",
          operation_id,
          status: "succeeded",
          results: [...results],
          output: [],
          ...times,
        });
      },
      stream: async () => {},
      down: (ending) => onDown?.(ending),
    },
  });
  return link;
}
