/** An agent without a machine: it speaks the protocol over any socket, exactly as told, for tests of a transport. */
import type { Crypto, Signer } from "../crypto/crypto.ts";
import { nodeIdOf } from "../crypto/encoding.ts";
import type { FrameSocket } from "../transport/socket.ts";
import { createAgentHandshake, type AgentHandshake } from "../wire/agent-handshake.ts";
import type { AgentStatus } from "../wire/handshake-messages.ts";
import type { AgentMessage, OrchestratorMessage } from "../wire/messages.ts";
import type { AgentSession, Incoming } from "../wire/session.ts";
import { EventLog } from "./event-log.ts";

/** What a test agent hears. */
export type TestAgentEvent =
  | Incoming<OrchestratorMessage>
  | { kind: "accepted"; status: AgentStatus }
  | { kind: "refused"; code: string }
  | { kind: "closed"; code: number; reason: string };

/** An agent that a test drives by hand. */
export class TestAgent {
  /** The connection itself, to send what no honest agent sends. */
  readonly socket: FrameSocket;
  readonly nodeId: string;
  /** Everything heard, in order. */
  readonly heard = new EventLog<TestAgentEvent>();
  readonly #handshake: AgentHandshake;
  #session: AgentSession | null = null;

  /** @param identity - `seed` (32 bytes) makes the agent's key; two agents with one seed are clones. */
  constructor(socket: FrameSocket, identity: { crypto: Crypto; seed: Uint8Array; hostname?: string }) {
    const { crypto, seed, hostname = "test-agent" } = identity;
    const signer: Signer = crypto.createSigner(seed);
    this.socket = socket;
    this.nodeId = nodeIdOf(signer.publicKey, crypto);
    this.#handshake = createAgentHandshake({
      crypto,
      signer,
      boxPublicKey: crypto.createExchangeKeyPair().publicKey,
      description: { agent_version: "0.0.0", hostname, platform: "linux" },
      pinnedKey: null,
      tlsExporter: socket.tlsExporter,
    });
    socket.listen({
      frame: (frame) => this.#receive(frame),
      closed: (code, reason) => this.heard.add({ kind: "closed", code, reason }),
    });
  }

  /** Begins the handshake. */
  greet(): void {
    this.socket.send(this.#handshake.hello());
  }

  /** Begins the handshake and waits until the agent is accepted. */
  async join(): Promise<AgentStatus> {
    this.greet();
    return (await this.heard.next("accepted")).status;
  }

  /** Sends a message. */
  say(message: AgentMessage): void {
    for (const frame of this.session.encode(message)) this.socket.send(frame);
  }

  /** The session, to make frames of; there is one once the agent was accepted. */
  get session(): AgentSession {
    if (!this.#session) throw new Error("The test agent is not accepted.");
    return this.#session;
  }

  #receive(frame: Uint8Array | string): void {
    if (this.#session) {
      const incoming = this.#session.decode(frame);
      if (incoming) this.heard.add(incoming);
      return;
    }
    try {
      const step = this.#handshake.receive(frame);
      if (step.kind === "send") {
        this.socket.send(step.frame);
        return;
      }
      this.#session = step.session;
      this.heard.add({ kind: "accepted", status: step.status });
    } catch (error) {
      this.heard.add({
        kind: "refused",
        code: error instanceof Error && "code" in error ? String(error.code) : "?",
      });
    }
  }
}
