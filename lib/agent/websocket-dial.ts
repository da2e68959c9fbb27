/** Dials an orchestrator over WebSocket with the package `ws`. */
import { randomFillSync } from "node:crypto";
import { TLSSocket } from "node:tls";
import { WebSocket, type RawData } from "ws";
import { tlsExporterLabel, type FrameSocket, type SocketHandlers } from "../transport/socket.ts";
import { handshakeTimeoutMs, maxFrameBytes } from "../wire/limits.ts";

/** How to dial. */
export interface WebSocketDialOptions {
  /** Gives the attempt up. */
  signal?: AbortSignal;
  /** How long connecting may take, milliseconds. Default 10_000. */
  connectTimeoutMs?: number;
  /** Certificate authorities to trust, PEM; default those of Node. */
  ca?: string;
  /**
   * Takes any TLS certificate. Safe where the orchestrator's key is pinned, which proves more than a certificate; an agent
   * that trusts the first key it sees needs a certificate that it can check. Default false.
   */
  allowUntrustedCertificate?: boolean;
}

/**
 * Opens a connection to an orchestrator.
 *
 * @param url - `ws://` or `wss://`, e.g. `wss://orchestrator.example:4100/agent/v1`.
 * @returns The open socket. Rejects where it can't be opened, with a `TlsFailure` where TLS is the reason, else with the error of `ws`.
 */
export function dialWebSocket(url: string, options: WebSocketDialOptions = {}): Promise<FrameSocket> {
  const { signal, connectTimeoutMs = handshakeTimeoutMs, ca, allowUntrustedCertificate = false } = options;
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const masks = new Masks();
    const socket = new WebSocket(url, {
      generateMask: (mask) => masks.fill(mask),
      perMessageDeflate: false,
      maxPayload: maxFrameBytes,
      handshakeTimeout: connectTimeoutMs,
      rejectUnauthorized: !allowUntrustedCertificate,
      followRedirects: false,
      ...(ca === undefined ? {} : { ca }),
    });
    const giveUp = (): void => socket.terminate();
    signal?.addEventListener("abort", giveUp, { once: true });
    let tlsExporter: Uint8Array | null = null;
    let remoteAddress: string | null = null;
    socket.once("upgrade", (response) => {
      tlsExporter = exporterOf(response.socket);
      remoteAddress = response.socket.remoteAddress ?? null;
    });
    const fail = (error: Error): void => {
      // An agent may try for months under one signal.
      signal?.removeEventListener("abort", giveUp);
      const why = whyNoTls(error);
      reject(why === null ? error : new TlsFailure(why, { cause: error }));
    };
    socket.once("error", fail);
    socket.once("open", () => {
      signal?.removeEventListener("abort", giveUp);
      socket.off("error", fail);
      resolve(new DialedSocket(socket, masks, { remoteAddress, tlsExporter }));
    });
  });
}

/** TLS fails as long as nobody changes something, here or at the server; the message says what. */
export class TlsFailure extends Error {}

/**
 * What Node and OpenSSL call it, and what it means. Their own texts differ with the version, and advise of options of the program
 * `node`, which nobody here runs by hand.
 */
const tlsFailures: readonly [RegExp, (code: string) => string][] = [
  [
    /^(?:UNABLE_TO_(?:VERIFY_LEAF_SIGNATURE|GET_ISSUER_CERT)|SELF_SIGNED_CERT|DEPTH_ZERO_SELF_SIGNED_CERT)/,
    (code) =>
      `its certificate is not trusted here (${code}). --ca-file FILE, or \`ca_file = FILE\` in the agent's settings, names a PEM file with the authority to trust.`,
  ],
  [
    /^CERT_(?:HAS_EXPIRED|NOT_YET_VALID)$/,
    (code) =>
      `its certificate is not valid now (${code}). Renew it on the server, or set the clock of this machine.`,
  ],
  [
    /^ERR_TLS_CERT_ALTNAME_INVALID$/,
    (code) =>
      `its certificate is for other names than the one called (${code}). Use one of these as the url, or give the server a certificate for this one.`,
  ],
  [
    /^(?:EPROTO$|ERR_SSL_)/,
    (code) =>
      `no TLS comes about (${code}). Is it the right port, and does the server speak https there, not http?`,
  ],
];

function whyNoTls(error: Error & { code?: unknown }): string | null {
  const code = String(error.code);
  return tlsFailures.find(([name]) => name.test(code))?.[1](code) ?? null;
}

/**
 * The masks of frames. RFC 6455, section 10.3 asks for random ones, so that who chooses what a client sends can't choose what an
 * old proxy sees. Sealed frames are random bytes to everybody, and a mask would only be made and taken off again: theirs is
 * zero, with which `ws` does neither, on both sides. Handshakes and control frames are masked.
 */
class Masks {
  #isSealed = false;

  fill(mask: Buffer): void {
    if (this.#isSealed) mask.fill(0);
    else randomFillSync(mask);
  }

  /** Sends a sealed frame: `ws` asks for its mask within the call. */
  whileSealed(send: () => void): void {
    this.#isSealed = true;
    try {
      send();
    } finally {
      this.#isSealed = false;
    }
  }
}

class DialedSocket implements FrameSocket {
  readonly remoteAddress: string | null;
  readonly tlsExporter: Uint8Array | null;
  readonly #socket: WebSocket;
  readonly #masks: Masks;
  #isClosing = false;
  /** Who waits for a sign of life. */
  #probing: (() => void)[] = [];

  constructor(
    socket: WebSocket,
    masks: Masks,
    facts: { remoteAddress: string | null; tlsExporter: Uint8Array | null },
  ) {
    this.#socket = socket;
    this.#masks = masks;
    this.remoteAddress = facts.remoteAddress;
    this.tlsExporter = facts.tlsExporter;
    // Nothing is read until there is somebody to hear it. An error is followed by `close`, which says enough.
    socket.pause();
    socket.on("error", () => {});
    socket.on("pong", () => {
      for (const resolve of this.#probing.splice(0)) resolve();
    });
  }

  get bufferedBytes(): number {
    return this.#socket.bufferedAmount;
  }

  listen(handlers: SocketHandlers): void {
    this.#socket.on("message", (data, isBinary) => {
      if (!this.#isClosing) handlers.frame(isBinary ? bytesOf(data) : bytesOf(data).toString("utf8"));
    });
    this.#socket.once("close", (code, reason) => handlers.closed(code, reason.toString()));
    this.resume();
  }

  send(frame: Uint8Array | string): void {
    if (this.#isClosing || this.#socket.readyState !== WebSocket.OPEN) return;
    if (typeof frame === "string") this.#socket.send(frame);
    else this.#masks.whileSealed(() => this.#socket.send(frame));
  }

  pause(): void {
    if (!this.#isClosing) this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  probe(): Promise<void> {
    return new Promise((resolve) => {
      this.#probing.push(resolve);
      if (!this.#isClosing) this.#socket.ping();
    });
  }

  close(code: number, reason: string): void {
    if (this.#isClosing) return;
    this.#isClosing = true;
    this.#socket.close(code, reason);
    // The other half of closing is a frame too: a paused socket would not see it.
    this.resume();
  }

  destroy(): void {
    this.#isClosing = true;
    this.#socket.terminate();
  }
}

/** With the default `binaryType`, `ws` gives one Buffer. */
function bytesOf(data: RawData): Buffer {
  return Buffer.isBuffer(data) ? data : Buffer.concat(Array.isArray(data) ? data : [Buffer.from(data)]);
}

function exporterOf(socket: unknown): Uint8Array | null {
  if (!(socket instanceof TLSSocket)) return null;
  return socket.exportKeyingMaterial(32, tlsExporterLabel, Buffer.alloc(0));
}
