/**
 * Sealed frames: ChaCha20-Poly1305 with a key a direction and a counter as nonce. A frame that was changed, left out,
 * repeated or moved does not open. Frames are sealed over TLS too: one path, and a proxy that ends TLS reads nothing.
 */
import type { Crypto } from "../crypto/crypto.ts";
import { OrchestratorError } from "../errors.ts";

/** The two directions of a connection; each has its own key. */
const directions = {
  toOrchestrator: "fleetwright/1 agent to orchestrator",
  toAgent: "fleetwright/1 orchestrator to agent",
} as const;

/** Seals what goes out and opens what comes in, each frame once and in order. */
export interface Sealing {
  /** Seals a frame of which the payload is these parts, one after the other. */
  seal(kind: number, ...parts: readonly Uint8Array[]): Uint8Array;
  /** @throws {OrchestratorError} `PROTOCOL_ERROR` where the frame is not the next one of the peer. */
  open(frame: Uint8Array): { kind: number; payload: Uint8Array };
}

/** Derives both keys from the exchanged secret and the transcript, neither of which is kept. */
export function createSealing(
  crypto: Crypto,
  keys: { side: "agent" | "orchestrator"; sharedSecret: Uint8Array; opening: Uint8Array },
): Sealing {
  const derive = (info: string): Uint8Array => crypto.deriveKey(keys.sharedSecret, keys.opening, info, 32);
  const [outLabel, inLabel] =
    keys.side === "agent"
      ? [directions.toOrchestrator, directions.toAgent]
      : [directions.toAgent, directions.toOrchestrator];
  return new CountedSealing(crypto, derive(outLabel), derive(inLabel));
}

/** Nonces of 96 bits count from 0 in each direction: 2^53 frames take longer than any connection lives. */
class CountedSealing implements Sealing {
  readonly #crypto: Crypto;
  readonly #outKey: Uint8Array;
  readonly #inKey: Uint8Array;
  #sealed = 0;
  #opened = 0;

  constructor(crypto: Crypto, outKey: Uint8Array, inKey: Uint8Array) {
    this.#crypto = crypto;
    this.#outKey = outKey;
    this.#inKey = inKey;
  }

  seal(kind: number, ...parts: readonly Uint8Array[]): Uint8Array {
    const nonce = nonceOf(this.#sealed);
    this.#sealed += 1;
    return this.#crypto.seal(this.#outKey, nonce, joinFrame(kind, parts));
  }

  open(frame: Uint8Array): { kind: number; payload: Uint8Array } {
    const nonce = nonceOf(this.#opened);
    this.#opened += 1;
    const opened = this.#crypto.open(this.#inKey, nonce, frame);
    const kind = opened?.[0];
    if (opened === null || kind === undefined) {
      throw new OrchestratorError("PROTOCOL_ERROR", {
        message: "A frame was changed, repeated or left out.",
      });
    }
    return { kind, payload: opened.subarray(1) };
  }
}

/** Where frames are put together, to be sealed at once: memory for each would cost more than to seal it. As large as the largest so far. */
let plainFrame = new Uint8Array(4_096);

function joinFrame(kind: number, parts: readonly Uint8Array[]): Uint8Array {
  const size = parts.reduce((sum, { length }) => sum + length, 1);
  if (size > plainFrame.length) plainFrame = new Uint8Array(size);
  plainFrame[0] = kind;
  let at = 1;
  for (const part of parts) {
    plainFrame.set(part, at);
    at += part.length;
  }
  return plainFrame.subarray(0, size);
}

function nonceOf(count: number): Uint8Array {
  const nonce = new Uint8Array(12);
  new DataView(nonce.buffer).setBigUint64(4, BigInt(count));
  return nonce;
}
