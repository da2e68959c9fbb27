import type { Clock } from "../../lib/clock.ts";
import type { Signer } from "../../lib/crypto/crypto.ts";
import { toHex } from "../../lib/crypto/encoding.ts";
import { nodeCrypto } from "../../lib/crypto/node-crypto.ts";
import { silentLogger } from "../../lib/logger.ts";
import { MemoryTransport } from "../../lib/transport/memory-transport.ts";
import type { AgentMessage, MessageOf, OrchestratorMessage } from "../../lib/wire/messages.ts";
import { uuid } from "./agent-commands.ts";

/** An orchestrator's end of the real transport, which takes every agent in and keeps what agents say. */
export class TestOrchestrator {
  readonly transport = new MemoryTransport();
  /** What agents said, in order. */
  readonly inbox: AgentMessage[] = [];
  /** The types of what agents said since somebody emptied this list. */
  readonly heard: string[] = [];
  /** How an agent that comes is admitted. */
  admission: "approved" | "pending" | "rejected" = "approved";
  /** What became of connections: "connected", "disconnected", "refused". */
  readonly events: string[] = [];
  readonly #signer: Signer;
  readonly #clock: Clock;
  readonly #waiting = new Set<() => void>();
  #commands = 0;

  /** @param seed - Seed of the identity key. Default: a new one. */
  constructor(clock: Clock, seed: Uint8Array = nodeCrypto.createSigningKeyPair().secretKey) {
    this.#clock = clock;
    this.#signer = nodeCrypto.createSigner(seed);
  }

  /** The public key, hex. */
  get key(): string {
    return toHex(this.#signer.publicKey);
  }

  async start(): Promise<void> {
    const clock = this.#clock;
    const orchestratorTime = (): string => new Date(clock.now()).toISOString();
    const context = {
      clock,
      crypto: nodeCrypto,
      logger: silentLogger,
      signer: this.#signer,
      orchestratorTime,
    };
    await this.transport.start(context, {
      admit: async () => ({ status: this.admission }),
      connected: async () => this.#note("connected"),
      message: async (_nodeId, message) => {
        this.inbox.push(message);
        this.heard.push(message.type);
        this.#wake();
      },
      stream: async () => {},
      disconnected: () => this.#note("disconnected"),
      refused: (refusal) => this.#note(`refused ${refusal.code}`),
    });
  }

  /** Sends a command with a new id; resolves with the id. */
  async send(nodeId: string | null, command: Unsent<OrchestratorMessage>): Promise<string> {
    this.#commands += 1;
    const id = uuid(800_000 + this.#commands);
    const timed = { not_after: new Date(this.#clock.now() + 3_600_000).toISOString(), ...command, id };
    await this.transport.send(nodeId ?? "", timed as OrchestratorMessage);
    return id;
  }

  /** The first message that fits, now or when it comes. It is taken out of the inbox. */
  async take<Type extends AgentMessage["type"]>(
    type: Type,
    fits: (message: MessageOf<AgentMessage, Type>) => boolean = () => true,
  ): Promise<MessageOf<AgentMessage, Type>> {
    for (;;) {
      const at = this.inbox.findIndex(
        (message) => message.type === type && fits(message as MessageOf<AgentMessage, Type>),
      );
      if (at >= 0) return this.inbox.splice(at, 1)[0] as MessageOf<AgentMessage, Type>;
      await this.#nextEvent();
    }
  }

  /** Resolves when something has become of a connection this often. */
  async happened(event: string, times = 1): Promise<void> {
    while (this.events.filter((each) => each === event).length < times) await this.#nextEvent();
  }

  #note(event: string): void {
    this.events.push(event);
    this.#wake();
  }

  #nextEvent(): Promise<void> {
    return new Promise((resolve) => void this.#waiting.add(resolve));
  }

  #wake(): void {
    for (const resolve of this.#waiting) resolve();
    this.#waiting.clear();
  }
}

/** A command without what {@link TestOrchestrator.send} fills in. */
type Unsent<Message> = Message extends unknown
  ? Omit<Message, "id" | "not_after"> & { not_after?: string }
  : never;
