/**
 * Hears announcements of orchestrators and answers them. Anybody in the network may send packets: what is no announcement, old, repeated,
 * forged, or not of the pinned orchestrator is dropped without a word and counted.
 */
import type { Clock, Timer } from "../../clock.ts";
import type { Crypto, Signer } from "../../crypto/crypto.ts";
import { toHex } from "../../crypto/encoding.ts";
import { OrchestratorError } from "../../errors.ts";
import type { Logger } from "../../logger.ts";
import type { Datagrams, DatagramSocket, Endpoint } from "../../transport/datagrams.ts";
import {
  isAnnouncementSigned,
  readAnnouncement,
  writeAnswer,
  type Announcement,
} from "../../wire/discovery-packets.ts";
import { AnswerShares } from "./answer-shares.ts";
import { CheckShares } from "./check-shares.ts";

/** How far the clock of an announcement may be off. */
const oldMs = 5 * 60_000;
/** Orchestrators whose newest announcement is remembered. */
const rememberedKeys = 100;
/** How often the log says what was dropped. */
const tellDroppedMs = 60_000;

/** Why an announcement was dropped. */
type Reason = "malformed" | "old" | "another orchestrator" | "too many" | "forged" | "repeated";

/** What a listener is made with. */
export interface AnnouncementListenerOptions {
  datagrams: Datagrams;
  clock: Clock;
  crypto: Crypto;
  logger: Logger;
  /** From 0 up to 1: spreads the answers of a network. */
  random(): number;
  port: number;
  signer: Signer;
  hostname: string;
  agentVersion: string;
  /** The orchestrator that alone is answered; null: any. */
  pinned(): Uint8Array | null;
  /** An orchestrator announced itself. */
  heard(announcement: Pick<Announcement, "url" | "publicKey">): void;
}

export class AnnouncementListener {
  readonly #options: AnnouncementListenerOptions;
  readonly #checks: CheckShares;
  readonly #answers: AnswerShares;
  readonly #sockets: DatagramSocket[] = [];
  readonly #timers = new Set<Timer>();
  /** When the newest announcement of an orchestrator was made, by its key. */
  readonly #newest = new Map<string, number>();
  readonly #dropped = new Map<Reason, number>();

  constructor(options: AnnouncementListenerOptions) {
    this.#options = options;
    this.#checks = new CheckShares(options.clock);
    this.#answers = new AnswerShares(options.clock);
  }

  /**
   * Listens from now on, over IPv4 and IPv6 or the one of them that there is.
   *
   * @throws {OrchestratorError} `ADDRESS_IN_USE` where neither can be.
   */
  async start(): Promise<void> {
    const opened = await Promise.allSettled([this.#open(4), this.#open(6)]);
    if (this.#sockets.length > 0) return;
    const [cause] = opened.flatMap((each) => (each.status === "rejected" ? [each.reason as unknown] : []));
    const message = `Announcements can't be heard at UDP port ${this.#options.port}.`;
    throw new OrchestratorError("ADDRESS_IN_USE", { message, cause });
  }

  /** Hears and answers nothing any more. */
  stop(): void {
    for (const timer of this.#timers) timer.cancel();
    this.#timers.clear();
    for (const socket of this.#sockets.splice(0)) socket.close();
  }

  async #open(family: 4 | 6): Promise<void> {
    const { datagrams, port } = this.#options;
    const heard = (packet: Uint8Array, from: Endpoint): void => this.#hear(packet, { socket, from });
    const socket = await datagrams.open({ family, port, heard });
    this.#sockets.push(socket);
  }

  #hear(packet: Uint8Array, { socket, from }: { socket: DatagramSocket; from: Endpoint }): void {
    const announcement = readAnnouncement(packet);
    const reason = this.#refuse(packet, announcement, from.address);
    if (reason !== null || announcement === null) return this.#drop(reason ?? "malformed");
    this.#options.heard(announcement);
    if (!this.#answers.tryTake(from.address)) return this.#drop("too many");
    const { signer, hostname, agentVersion, random } = this.#options;
    const { nonce, publicKey, spreadMs } = announcement;
    const answer = writeAnswer(signer, publicKey, { nonce, hostname, agentVersion });
    this.#later(Math.floor(random() * spreadMs), () => {
      socket.send(answer, from).catch((error: unknown) => {
        this.#options.logger.debug("An announcement was not answered.", { error, to: from.address });
      });
    });
  }

  /** Why an announcement is not believed, the cheapest reason first; null where it is. */
  #refuse(packet: Uint8Array, announcement: Announcement | null, address: string): Reason | null {
    const { clock, crypto, pinned } = this.#options;
    if (announcement === null) return "malformed";
    const { at, publicKey } = announcement;
    const key = toHex(publicKey);
    const own = pinned();
    if (own !== null && toHex(own) !== key) return "another orchestrator";
    if (Math.abs(clock.now() - at) > oldMs) return "old";
    if (at <= (this.#newest.get(key) ?? -Infinity)) return "repeated";
    if (!this.#checks.tryTake(address)) return "too many";
    if (!isAnnouncementSigned(crypto, packet)) return "forged";
    this.#checks.signed(address);
    this.#newest.delete(key);
    this.#newest.set(key, at);
    if (this.#newest.size > rememberedKeys) this.#newest.delete(this.#newest.keys().next().value ?? "");
    return null;
  }

  #drop(reason: Reason): void {
    if (this.#dropped.size === 0) this.#later(tellDroppedMs, () => this.#tellDropped());
    this.#dropped.set(reason, (this.#dropped.get(reason) ?? 0) + 1);
  }

  #tellDropped(): void {
    const dropped = Object.fromEntries(this.#dropped);
    this.#dropped.clear();
    this.#options.logger.info("Announcements were dropped in the last minute.", { dropped });
  }

  #later(ms: number, act: () => void): void {
    const timer = this.#options.clock.setTimer(ms, () => {
      this.#timers.delete(timer);
      act();
    });
    this.#timers.add(timer);
  }
}
