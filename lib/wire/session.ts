/** What both sides speak after the handshake: messages and streams in, sealed frames out, and the way back. */
import type { Crypto, Signer } from "../crypto/crypto.ts";
import { toUtf8 } from "../crypto/encoding.ts";
import { OrchestratorError } from "../errors.ts";
import { finish, type Work } from "../internal/work.ts";
import { frameKind, frameMessage, readStream, Reassembly, streamParts } from "./framing.ts";
import { maxFrameBytes } from "./limits.ts";
import {
  agentMessageSchema,
  orchestratorMessageSchema,
  type AgentMessage,
  type OrchestratorMessage,
} from "./messages.ts";
import { parseInSlices } from "./parse-json.ts";
import type { Sealing } from "./sealing.ts";
import { signatureBytes, signCommand, verifyCommand } from "./signed-command.ts";
import { checkSize, toUnread, UnreadIntake, type UnreadMessage } from "./unread-message.ts";

/** What a frame of the peer meant. */
export type Incoming<In> =
  | { kind: "message"; message: In }
  | { kind: "stream"; streamId: string; data: Uint8Array }
  | { kind: "ping" };

/** What a frame of the peer meant, before a message is read. */
export type Opened = UnreadMessage | Exclude<Incoming<never>, { kind: "message" }>;

/** One proved connection. Frames must be sent in the order they were made, and decoded in the order they came. */
export interface Session<Out, In> {
  /**
   * The frames of a message; more than one above 256 KiB.
   *
   * @throws {OrchestratorError} `PAYLOAD_TOO_LARGE` above 16 MiB of text.
   */
  encode(message: Out): Uint8Array[];
  /**
   * The frame of one piece of a stream.
   *
   * @throws {OrchestratorError} `PAYLOAD_TOO_LARGE` where it does not fit into one frame.
   */
  encodeStream(streamId: string, data: Uint8Array): Uint8Array;
  /** Says that this side lives. */
  encodePing(): Uint8Array;
  /**
   * Opens a frame and leaves what it says unread; null for a piece of a message that is not complete. Cost: linear.
   *
   * @throws {OrchestratorError} `PROTOCOL_ERROR`, or `SIGNATURE_INVALID` for a command. The connection must end then.
   */
  open(frame: Uint8Array | string): Opened | null;
  /**
   * Reads a message.
   *
   * @throws {OrchestratorError} `PROTOCOL_ERROR`. The connection must end then.
   */
  read(message: UnreadMessage): In;
  /**
   * Reads a message in slices: work that stops every few milliseconds where the message is long, and not at all where it is not. A
   * message of 16 MiB read at once holds up everything else for hundreds of milliseconds. Errors as {@link Session.read}.
   */
  readInSlices(message: UnreadMessage): Generator<void, In, void>;
  /** Opens a frame and reads what it says; errors as {@link Session.open} and {@link Session.read}. */
  decode(frame: Uint8Array | string): Incoming<In> | null;
}

/** The orchestrator's end: signs what it says, checks what the agent says. */
export type OrchestratorSession = Session<OrchestratorMessage, AgentMessage>;
/** The agent's end: verifies what the orchestrator says. */
export type AgentSession = Session<AgentMessage, OrchestratorMessage>;

/** Begins the orchestrator's end. */
export function createOrchestratorSession(
  sealing: Sealing,
  identity: { signer: Signer; nodeId: string },
): OrchestratorSession {
  return new SealedSession(sealing, {
    write: (message: OrchestratorMessage) => signCommand(identity.signer, identity.nodeId, message),
    prefixBytes: signatureBytes,
    intake: new UnreadIntake(),
    parse: (message): Work<AgentMessage> => parseInSlices(agentMessageSchema, message),
  });
}

/** Begins the agent's end. */
export function createAgentSession(
  sealing: Sealing,
  peers: { crypto: Crypto; orchestratorKey: Uint8Array; nodeId: string },
): AgentSession {
  return new SealedSession(sealing, {
    write: (message: AgentMessage) => toUtf8(wellFormed(JSON.stringify(message))),
    prefixBytes: 0,
    // Verified before anything looks at it, so not before it is whole.
    intake: {
      take: (bytes, isWhole) => (isWhole ? toUnread(verifyCommand(peers.crypto, peers, bytes)) : null),
    },
    parse: (message): Work<OrchestratorMessage> => parseInSlices(orchestratorMessageSchema, message),
  });
}

/** How messages of a direction become bytes and come back. */
interface Codec<Out, In> {
  write(message: Out): Uint8Array;
  /** Bytes before the text. */
  prefixBytes: number;
  /** Takes what is there of a message, and the whole of it when it is. */
  intake: Pick<UnreadIntake, "take">;
  parse(message: UnreadMessage): Work<In>;
}

class SealedSession<Out extends { type: string }, In extends { type: string }> implements Session<Out, In> {
  readonly #sealing: Sealing;
  readonly #codec: Codec<Out, In>;
  readonly #reassembly = new Reassembly();

  constructor(sealing: Sealing, codec: Codec<Out, In>) {
    this.#sealing = sealing;
    this.#codec = codec;
  }

  encode(message: Out): Uint8Array[] {
    const bytes = this.#codec.write(message);
    checkSize(message, bytes.subarray(this.#codec.prefixBytes));
    return frameMessage(bytes).map(({ kind, payload }) => this.#sealing.seal(kind, payload));
  }

  encodeStream(streamId: string, data: Uint8Array): Uint8Array {
    return this.#sealing.seal(frameKind.stream, ...streamParts(streamId, data));
  }

  encodePing(): Uint8Array {
    return this.#sealing.seal(frameKind.ping);
  }

  open(frame: Uint8Array | string): Opened | null {
    const plain = this.#sealing.open(checkFrame(frame));
    switch (plain.kind) {
      case frameKind.message:
      case frameKind.fragment:
      case frameKind.lastFragment: {
        const { bytes, isWhole } = this.#reassembly.take(plain);
        return this.#codec.intake.take(bytes, isWhole);
      }
      case frameKind.stream:
        return { kind: "stream", ...readStream(plain.payload) };
      case frameKind.ping:
        if (plain.payload.length === 0) return { kind: "ping" };
    }
    throw new OrchestratorError("PROTOCOL_ERROR", { message: "The peer sent a frame of an unknown kind." });
  }

  read(message: UnreadMessage): In {
    return finish(this.readInSlices(message));
  }

  *readInSlices(unread: UnreadMessage): Work<In> {
    const { head } = unread;
    const message = yield* this.#codec.parse(unread);
    // Said in other letters, or twice: it was let in as what it is not.
    const operationId = "operation_id" in message ? message.operation_id : null;
    if (message.type === head.type && operationId === head.operationId) return message;
    throw new OrchestratorError("PROTOCOL_ERROR", { message: "A message says what it is in an odd form." });
  }

  decode(frame: Uint8Array | string): Incoming<In> | null {
    const opened = this.open(frame);
    return opened?.kind === "message" ? { kind: "message", message: this.read(opened) } : opened;
  }
}

/**
 * Replaces halves of surrogate pairs, which JSON.stringify escapes, by U+FFFD. Output that was cut in the middle of a
 * character must not make a result that the orchestrator refuses each time it is sent again.
 */
function wellFormed(json: string): string {
  if (!json.includes("\\ud")) return json;
  return json.replace(/\\(?:ud[89a-f][0-9a-f]{2}|.)/g, (escape) =>
    escape.startsWith("\\ud") ? "\ufffd" : escape,
  );
}

function checkFrame(frame: Uint8Array | string): Uint8Array {
  if (typeof frame === "string") {
    throw new OrchestratorError("PROTOCOL_ERROR", { message: "After the handshake every frame is binary." });
  }
  if (frame.length > maxFrameBytes) {
    throw new OrchestratorError("PROTOCOL_ERROR", { message: "A frame is larger than allowed." });
  }
  return frame;
}
