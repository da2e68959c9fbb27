/**
 * The socket of somebody who sees a terminal:
 *
 *   waiting --attach--> attached --the terminal ends, or the socket--> over
 *
 * waiting:  at most 10 s, for the ticket
 * attached: output goes out as far as 512 KiB beyond what the viewer acknowledged; input is taken as far as the agent takes it
 */
import type { Clock, Timer } from "../clock.ts";
import { isOrchestratorError, OrchestratorError } from "../errors.ts";
import { parseInput } from "../internal/parse-input.ts";
import { closeCode, type FrameSocket } from "../transport/socket.ts";
import type { LiveTerminal } from "./live-terminal.ts";
import { viewerMessageSchema, type ViewerMessage } from "./schemas.ts";
import type { TerminalEnd, TerminalViewer } from "./terminal-viewer.ts";

const attachMs = 10_000;
const windowBytes = 524_288;
const frameBytes = 65_536;
const mostInputBytes = 65_536;
const mostMessageChars = 1_000;

/** What came of a ticket. */
export interface Attachment {
  terminal: LiveTerminal;
  types: boolean;
  /** Aborted when the viewer may not see it any more. */
  signal: AbortSignal;
  /** To be called when it is over. */
  release: () => void;
}

/** Redeems a ticket. */
export type Redeem = (message: Extract<ViewerMessage, { type: "attach" }>) => Promise<Attachment>;

export class ViewerConnection implements TerminalViewer {
  readonly #socket: FrameSocket;
  readonly #redeem: Redeem;
  readonly #deadline: Timer;
  #attachment: Attachment | null = null;
  #isAttaching = false;
  #isOver = false;
  #sent = 0;
  #seen = 0;
  /** One after the other: what is typed keeps its order. */
  #work: Promise<void> = Promise.resolve();

  /** Takes a socket over until it is closed. */
  static take(socket: FrameSocket, parts: { clock: Clock; redeem: Redeem }): void {
    void new ViewerConnection(socket, parts);
  }

  private constructor(socket: FrameSocket, { clock, redeem }: { clock: Clock; redeem: Redeem }) {
    this.#socket = socket;
    this.#redeem = redeem;
    this.#deadline = clock.setTimer(attachMs, () =>
      this.#fail(new OrchestratorError("REQUEST_TIMEOUT", { message: "No ticket came." })),
    );
    socket.listen({
      frame: (frame) => {
        this.#work = this.#work.then(() => this.#take(frame)).catch((error: unknown) => this.#fail(error));
      },
      closed: () => this.#end(),
    });
  }

  get types(): boolean {
    return this.#attachment?.types === true;
  }

  get seen(): number {
    return this.#seen;
  }

  show(): void {
    const window = this.#attachment?.terminal.window;
    if (!window || this.#isOver) return;
    if (this.#sent < window.start) {
      return this.#fail(new OrchestratorError("RATE_LIMITED", { message: "The viewer reads too slowly." }));
    }
    while (this.#sent < window.end && this.#sent - this.#seen < windowBytes) {
      const piece = window.read(this.#sent, Math.min(frameBytes, windowBytes - (this.#sent - this.#seen)));
      this.#sent += piece.length;
      this.#socket.send(piece);
    }
  }

  roomForInput(): void {
    this.#socket.resume();
  }

  resized(cols: number, rows: number): void {
    this.#tell({ type: "resized", cols, rows });
  }

  ended({ status, reason, exitCode }: TerminalEnd): void {
    if (this.#isOver) return;
    if (exitCode !== undefined) this.#tell({ type: "exit", exit_code: exitCode });
    this.#tell({ type: "closed", status, reason });
    this.#end();
    this.#socket.close(closeCode.normal, reason);
  }

  async #take(frame: Uint8Array | string): Promise<void> {
    if (this.#isOver) return;
    if (typeof frame !== "string") return this.#type(frame);
    const message = parseMessage(frame);
    if (message.type === "attach") return this.#attach(message);
    const { terminal } = this.#require();
    if (message.type === "ack") {
      this.#seen = Math.min(this.#sent, Math.max(this.#seen, message.offset));
      this.show();
      return terminal.noteSeen(this);
    }
    if (!this.types) return this.#warn("Only who opened the terminal may change it.");
    return terminal.resize(message.cols, message.rows);
  }

  async #attach(message: Extract<ViewerMessage, { type: "attach" }>): Promise<void> {
    if (this.#isAttaching) throw broken("The viewer is attached already.");
    this.#isAttaching = true;
    const attachment = await this.#redeem(message);
    if (this.#isOver) return attachment.release();
    this.#deadline.cancel();
    this.#attachment = attachment;
    const { terminal, types, signal } = attachment;
    const { window, document } = terminal;
    const from = Math.max(window.start, Math.min(message.last_offset ?? window.start, window.end));
    this.#sent = from;
    this.#seen = from;
    const { session_id, node_id, agent_name, cols, rows } = document;
    this.#tell({ type: "opened", session_id, node_id, agent_name, offset: from, types, cols, rows });
    terminal.join(this);
    const refuse = (): void => this.#fail(new OrchestratorError("UNAUTHENTICATED"));
    signal.addEventListener("abort", refuse, { once: true });
    if (signal.aborted) return refuse();
    this.show();
    await terminal.noteSeen(this);
  }

  async #type(bytes: Uint8Array): Promise<void> {
    const { terminal, types } = this.#require();
    if (!types) return this.#warn("Only who opened the terminal may type.");
    if (bytes.length > mostInputBytes) throw broken("A piece of input is larger than 64 KiB.");
    await terminal.type(bytes);
    if (terminal.isInputFull) this.#socket.pause();
  }

  #require(): Attachment {
    if (this.#attachment === null) throw broken("The first message must be attach.");
    return this.#attachment;
  }

  #warn(message: string): void {
    this.#tell({ type: "warning", code: "FORBIDDEN", message });
  }

  #tell(message: object): void {
    if (!this.#isOver) this.#socket.send(JSON.stringify(message));
  }

  #fail(error: unknown): void {
    if (this.#isOver) return;
    const code = isOrchestratorError(error) ? error.code : "INTERNAL";
    const message = isOrchestratorError(error) ? error.message : "Something went wrong inside.";
    this.#tell({ type: "refused", code, message });
    this.#end();
    this.#socket.close(closeCode.refused, code);
  }

  #end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#deadline.cancel();
    const attachment = this.#attachment;
    attachment?.terminal.leave(this);
    attachment?.release();
  }
}

function parseMessage(text: string): ViewerMessage {
  if (text.length > mostMessageChars) throw broken("A message is too long.");
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    throw broken("A message is no JSON.");
  }
  return parseInput(viewerMessageSchema, json);
}

function broken(message: string): OrchestratorError {
  return new OrchestratorError("VALIDATION_FAILED", { message });
}
