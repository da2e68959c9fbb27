/** A network in which frames wait for their delivery, and in which everything goes wrong that goes wrong in networks. */
import type { Clock, Timer } from "../../lib/clock.ts";
import type { FrameSocket, SocketHandlers } from "../../lib/transport/socket.ts";
import type { Life } from "./life.ts";

type Delivery =
  | { kind: "frame"; frame: Uint8Array | string }
  | { kind: "probe"; answered: () => void }
  | { kind: "answer"; answered: () => void }
  | { kind: "closed"; code: number; reason: string };

/** Longest time on the way, milliseconds, where nothing stalls. */
const longestDelayMs = 40;
const cutCode = 1006;

/** What carries frames. */
export class Network {
  /** Takes the orchestrator's end of each new connection; null while nobody listens. */
  listener: ((end: FrameSocket) => void) | null = null;
  readonly #clock: Clock;
  readonly #random: () => number;
  #connections: Connection[] = [];

  constructor(clock: Clock, random: () => number) {
    this.#clock = clock;
    this.#random = random;
  }

  /** The agent's end of a new connection, for the process that dials. Throws where nobody listens. */
  dial(owner: Life): SimulatedSocket {
    if (!this.listener) throw new Error("ECONNREFUSED");
    const connection = new Connection(this.#clock, this.#random);
    connection.agentEnd.owner = owner;
    this.#connections = [...this.connections(), connection];
    this.listener(connection.orchestratorEnd);
    return connection.agentEnd;
  }

  /** The connections of which an end is open. */
  connections(): Connection[] {
    return this.#connections.filter(
      ({ agentEnd, orchestratorEnd }) => agentEnd.isOpen || orchestratorEnd.isOpen,
    );
  }

  /** Both directions of every connection. */
  ends(): SimulatedSocket[] {
    return this.connections().flatMap(({ agentEnd, orchestratorEnd }) => [agentEnd, orchestratorEnd]);
  }

  /** Lets everything through again. */
  heal(): void {
    for (const end of this.ends()) end.unstall();
  }
}

/** Two ends. */
class Connection {
  readonly agentEnd: SimulatedSocket;
  readonly orchestratorEnd: SimulatedSocket;

  constructor(clock: Clock, random: () => number) {
    this.agentEnd = new SimulatedSocket(clock, random);
    this.orchestratorEnd = new SimulatedSocket(clock, random);
    this.agentEnd.peer = this.orchestratorEnd;
    this.orchestratorEnd.peer = this.agentEnd;
  }

  /** Ends both ends at once; what is on the way is lost. */
  cut(): void {
    this.agentEnd.vanish();
    this.orchestratorEnd.vanish();
  }
}

/** One end, with what is on the way to it. */
export class SimulatedSocket implements FrameSocket {
  readonly remoteAddress = null;
  readonly tlsExporter = null;
  /** Itself until the pair is joined. */
  peer: SimulatedSocket = this;
  /** The process that may die of each frame it sends; null where nobody counts them. */
  owner: Life | null = null;
  readonly #clock: Clock;
  readonly #random: () => number;
  #handlers: SocketHandlers | null = null;
  #coming: Delivery[] = [];
  #timer: Timer | null = null;
  #isPaused = false;
  #isStalled = false;
  #isOpen = true;

  constructor(clock: Clock, random: () => number) {
    this.#clock = clock;
    this.#random = random;
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  get isStalled(): boolean {
    return this.#isStalled;
  }

  /** How much is on the way to this end. */
  get coming(): number {
    return this.#coming.length;
  }

  get bufferedBytes(): number {
    return this.peer.#coming.reduce((sum, item) => sum + (item.kind === "frame" ? item.frame.length : 0), 0);
  }

  listen(handlers: SocketHandlers): void {
    this.#handlers = handlers;
    this.#arm();
  }

  send(frame: Uint8Array | string): void {
    this.owner?.touch();
    if (this.#isOpen) this.peer.#put({ kind: "frame", frame });
  }

  pause(): void {
    this.#isPaused = true;
  }

  resume(): void {
    this.#isPaused = false;
    this.#arm();
  }

  probe(): Promise<void> {
    return new Promise((answered) => {
      if (this.#isOpen) this.peer.#put({ kind: "probe", answered });
    });
  }

  close(code: number, reason: string): void {
    if (!this.#isOpen) return;
    this.peer.#put({ kind: "closed", code, reason });
    this.#end(code, reason);
  }

  destroy(): void {
    this.close(cutCode, "");
  }

  /** Ends this end without the other hearing of it, as when a cable is cut. */
  vanish(): void {
    this.#end(cutCode, "");
  }

  /** Delivers at once what is on the way, so many frames of it. */
  deliver(frames: number): void {
    for (let left = frames; left > 0 && this.#isOpen && this.#coming.length > 0; left -= 1)
      this.#deliverNext();
  }

  /** Loses the next frame on the way. */
  drop(): void {
    this.#coming.shift();
  }

  /** Brings the next frame on the way twice. */
  double(): void {
    const [first] = this.#coming;
    if (first) this.#coming.unshift(first);
  }

  /** Lets nothing through any more. */
  stall(): void {
    this.#isStalled = true;
    this.#timer?.cancel();
    this.#timer = null;
  }

  unstall(): void {
    this.#isStalled = false;
    this.#arm();
  }

  #put(delivery: Delivery): void {
    if (!this.#isOpen) return;
    this.#coming.push(delivery);
    this.#arm();
  }

  #arm(): void {
    if (this.#timer || this.#isStalled || this.#isPaused || !this.#isOpen) return;
    if (!this.#handlers || this.#coming.length === 0) return;
    this.#timer = this.#clock.setTimer(this.#random() * longestDelayMs, () => {
      this.#timer = null;
      if (!this.#isPaused) this.#deliverNext();
      this.#arm();
    });
  }

  #deliverNext(): void {
    const next = this.#coming.shift();
    if (next?.kind === "frame") this.#handlers?.frame(next.frame);
    else if (next?.kind === "probe") this.peer.#put({ kind: "answer", answered: next.answered });
    else if (next?.kind === "answer") next.answered();
    else if (next) this.#end(next.code, next.reason);
  }

  #end(code: number, reason: string): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#coming = [];
    this.#timer?.cancel();
    this.#timer = null;
    queueMicrotask(() => this.#handlers?.closed(code, reason));
  }
}
