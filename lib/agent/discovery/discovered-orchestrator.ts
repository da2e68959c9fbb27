/**
 * The orchestrator of an agent that was given no address: the one that announced itself. A hint, never trust: what is dialled has to prove
 * the key that the announcement named, and once an orchestrator is pinned only its own announcements count.
 *
 * The address of the last connection is kept in the state folder, so that a restart needs no new announcement; an orchestrator that
 * moved is heard of at its new address, and both are tried in turn.
 */
import { join } from "node:path";
import { z } from "zod";
import type { Logger } from "../../logger.ts";
import type { FrameSocket } from "../../transport/socket.ts";
import { udp } from "../../transport/udp.ts";
import type { Announcement } from "../../wire/discovery-packets.ts";
import { defaultDiscoveryPort } from "../../wire/limits.ts";
import type { AgentOptions, Dial } from "../agent-options.ts";
import { readText, replaceFile } from "../durable-file.ts";
import type { OrchestratorPin } from "../link-connection.ts";
import { seal, unseal } from "../sealed-text.ts";
import { dialWebSocket } from "../websocket-dial.ts";
import { AnnouncementListener, type AnnouncementListenerOptions } from "./announcement-listener.ts";

const fileSchema = z.strictObject({ version: z.literal(1), url: z.string().regex(/^wss?:\/\//) });

/** A place to dial, and the key that must be proved there where none is pinned. */
interface Place {
  url: string;
  publicKey: Uint8Array | null;
}

/** What it is made with: the pin is that of the state folder. */
export interface DiscoveryOptions extends Omit<AnnouncementListenerOptions, "pinned" | "heard"> {
  stateDir: string;
  pin: OrchestratorPin;
  /** Told of an announcement from a place that was not known. */
  found: () => void;
  dial: (url: string, signal: AbortSignal) => Promise<FrameSocket>;
}

export class DiscoveredOrchestrator {
  readonly #path: string;
  readonly #pin: OrchestratorPin;
  readonly #dial: DiscoveryOptions["dial"];
  readonly #logger: Logger;
  readonly #found: () => void;
  readonly #listener: AnnouncementListener;
  #known: Place | null = null;
  #heard: Place | null = null;
  #trying: Place | null = null;
  #turn = 0;
  #wake: () => void = () => {};

  constructor(options: DiscoveryOptions) {
    this.#path = join(options.stateDir, "discovered.json");
    this.#pin = options.pin;
    this.#dial = options.dial;
    this.#logger = options.logger;
    this.#found = options.found;
    this.#listener = new AnnouncementListener({
      ...options,
      pinned: () => options.pin.get(),
      heard: (announcement) => this.#hear(announcement),
    });
    const text = readText(this.#path);
    // Damaged, it is as if nothing was known: the next announcement tells it.
    const url = text === null ? undefined : fileSchema.safeParse(unseal(text)?.value).data?.url;
    if (url !== undefined && this.#pin.get() !== null) this.#known = { url, publicKey: null };
  }

  /** What the handshake goes by: what is pinned, else the key that was announced. */
  readonly pin: OrchestratorPin = {
    get: () => this.#pin.get() ?? this.#trying?.publicKey ?? null,
    set: (key) => this.#pin.set(key),
  };

  /**
   * Hears announcements from now on.
   *
   * @throws {OrchestratorError} `ADDRESS_IN_USE` where it can't.
   */
  start(): Promise<void> {
    return this.#listener.start();
  }

  /** Hears nothing any more. */
  stop(): void {
    this.#listener.stop();
  }

  /** An orchestrator announced itself, under its signature. */
  #hear({ url, publicKey }: Pick<Announcement, "url" | "publicKey">): void {
    const isNew = ![this.#heard, this.#known].some((place) => place?.url === url);
    this.#heard = { url, publicKey };
    this.#wake();
    if (!isNew) return;
    this.#turn = 0;
    this.#found();
  }

  /** Dials what is known; waits where nothing is. */
  readonly dial: Dial = async (signal) => {
    while (this.#known === null && this.#heard === null && !signal.aborted) await this.#news(signal);
    signal.throwIfAborted();
    const places = [this.#heard, this.#known].filter((place) => place !== null);
    const place = places[this.#turn % places.length] ?? places[0];
    if (!place) throw new Error("No orchestrator is known.");
    this.#turn += 1;
    this.#trying = place;
    return this.#dial(place.url, signal);
  };

  /** The orchestrator that was dialled last has proved its key and taken the agent in: it is dialled first from now on. */
  accepted(): void {
    this.#turn = 0;
    const place = this.#trying;
    if (!place) return;
    if (this.#known?.url === place.url) {
      // What it was heard of at is behind the place that holds, and may be one that nobody reaches from here.
      if (this.#heard !== null) this.#turn = 1;
      return;
    }
    this.#known = { ...place, publicKey: null };
    this.#heard = null;
    try {
      replaceFile(this.#path, `${seal({ version: 1, url: place.url })}\n`);
    } catch (error) {
      this.#logger.warn(
        "The address of the orchestrator was not kept: it has to announce itself again after a restart.",
        {
          error,
        },
      );
    }
  }

  #news(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
      signal.addEventListener("abort", () => resolve(), { once: true });
    });
  }
}

/** What finds the orchestrator of an agent that is to be discovered; null for one that is not. */
export function discoveredBy(
  { discover = false, tls }: AgentOptions,
  parts: Omit<DiscoveryOptions, "datagrams" | "port" | "dial">,
): DiscoveredOrchestrator | null {
  if (discover === false) return null;
  const port = discover === true ? defaultDiscoveryPort : discover.port;
  const dial: DiscoveryOptions["dial"] = (url, signal) => dialWebSocket(url, { ...tls, signal });
  return new DiscoveredOrchestrator({ ...parts, datagrams: udp, port, dial });
}
