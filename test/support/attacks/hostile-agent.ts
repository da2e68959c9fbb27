/** Agents that are let in by the real handshake and then say what no honest agent says. */
import { createHash, randomBytes } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { dialWebSocket } from "../../../lib/agent/websocket-dial.ts";
import { toUtf8 } from "../../../lib/crypto/encoding.ts";
import { nodeCrypto } from "../../../lib/crypto/node-crypto.ts";
import { TestAgent } from "../../../lib/testing/test-agent.ts";
import { frameMessage } from "../../../lib/wire/framing.ts";
import type { AgentMessage } from "../../../lib/wire/messages.ts";

/** A connected agent that speaks bytes of its own. */
export class HostileAgent {
  readonly agent: TestAgent;
  #isClosed = false;
  #plain: Uint8Array | null = null;

  private constructor(agent: (seal: typeof nodeCrypto.seal) => TestAgent) {
    this.agent = agent((key, nonce, plain) => nodeCrypto.seal(key, nonce, this.#plain ?? plain));
    void this.agent.heard.next("closed").then(() => (this.#isClosed = true));
  }

  /** Connects and waits until it is taken in. Rejects where it is not. */
  static async connect(url: string, seed: Uint8Array, signal: AbortSignal): Promise<HostileAgent> {
    const socket = await dialWebSocket(url, { signal });
    const hostile = new HostileAgent(
      (seal) => new TestAgent(socket, { crypto: { ...nodeCrypto, seal }, seed }),
    );
    const { heard } = hostile.agent;
    hostile.agent.greet();
    const first = await Promise.race([
      heard.next("accepted"),
      heard.next("refused"),
      heard.next("closed"),
      pause(15_000, { kind: "late" }, { ref: false }),
    ]);
    if (first.kind === "accepted") return hostile;
    socket.destroy();
    throw new Error(`It was not taken in: ${first.kind}.`);
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Sends an honest message. */
  async say(message: AgentMessage): Promise<void> {
    this.agent.say(message);
    await this.#sent();
  }

  /** Sends a text as a message; in one frame, where that is told. */
  async sendText(text: string, { inOneFrame = false } = {}): Promise<void> {
    const payload = toUtf8(text);
    const frames = inOneFrame ? [{ kind: 1, payload }] : frameMessage(payload);
    for (const { kind, payload } of frames) {
      const plain = new Uint8Array(payload.length + 1);
      plain[0] = kind;
      plain.set(payload, 1);
      this.#plain = plain;
      this.agent.socket.send(this.agent.session.encodePing());
      this.#plain = null;
      await this.#sent();
    }
  }

  /** Waits until it was hung up on, or some time is over. */
  async end(afterMs: number): Promise<void> {
    for (const until = performance.now() + afterMs; !this.#isClosed && performance.now() < until;)
      await pause(20);
    this.agent.socket.destroy();
  }

  /** Resolves when little waits to be sent. Rejects when the connection is over. */
  async #sent(): Promise<void> {
    await pause(0);
    while (!this.#isClosed && this.agent.socket.bufferedBytes > 1024 * 1024) await pause(5);
    if (this.#isClosed) throw new Error("It was hung up on.");
  }
}

/** The secrets of the keys of agents that are approved before the attacks. */
export const approvedSeeds: readonly Uint8Array[] = Array.from({ length: 6 }, (_, hand) =>
  createHash("sha256").update(`hostile agent ${hand}`).digest(),
);

/** The secret of a key that nobody has seen. */
export function freshSeed(): Uint8Array {
  return randomBytes(32);
}
