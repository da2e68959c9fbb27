/**
 * Somebody who sees a terminal, at the process that holds it:
 *
 *   attached --the terminal ends, or the socket--> over
 *
 * attached: output goes out as far as 512 KiB beyond what the viewer acknowledged; input is taken as far as the agent takes it. Who sends no more than 192 KiB
 *           of it beyond what was told to be taken is never asked to wait: whoever is asked that is not heard acknowledging output either.
 *           Who says more than can be done is not read meanwhile, and who does not read what was acknowledged is cut off
 */
import { isStopping } from "../access/streams.ts";
import { OrchestratorError } from "../errors.ts";
import { closeCode, type FrameSocket, type SocketHandlers } from "../transport/socket.ts";
import type { LiveTerminal } from "./live-terminal.ts";
import type { TerminalEnd, TerminalViewer } from "./terminal-viewer.ts";
import { broken, mostUnreadBytes, parseViewerMessage, refuseViewer } from "./viewer-messages.ts";

const windowBytes = 524_288;
const frameBytes = 65_536;
const mostInputBytes = 65_536;
/** Input that may wait at the agent, and what a viewer who keeps to 192 KiB leaves of it to those who typed before. */
const mostUntakenBytes = 262_144;
const othersBytes = 65_536;
/** Frames that may wait for the one before them. */
const mostWaiting = 16;

/** What somebody sees, and how. */
export interface Attachment {
  terminal: LiveTerminal;
  types: boolean;
  /** Place after the last byte that was seen; absent = what is still there. */
  lastOffset: number | undefined;
  /** Aborted when the viewer may not see it any more. */
  signal: AbortSignal;
  /** To be called when it is over. */
  release: () => void;
}

export class ViewerConnection implements TerminalViewer, SocketHandlers {
  readonly #socket: FrameSocket;
  readonly #attachment: Attachment;
  #isOver = false;
  #sent = 0;
  #seen = 0;
  /** Bytes that others had typed. */
  readonly #typedBefore: number;
  /** One after the other: what is typed keeps its order. */
  #work: Promise<void> = Promise.resolve();
  /** Frames that are still to be worked on. */
  #waiting = 0;

  /** Shows a terminal on a socket, of which the caller hands frames over from then on. Errors where it is not open yet. */
  static attach(socket: FrameSocket, attachment: Attachment): ViewerConnection {
    const connection = new ViewerConnection(socket, attachment);
    connection.#begin();
    return connection;
  }

  private constructor(socket: FrameSocket, attachment: Attachment) {
    this.#socket = socket;
    this.#attachment = attachment;
    this.#typedBefore = attachment.terminal.typed;
  }

  get types(): boolean {
    return this.#attachment.types;
  }

  get seen(): number {
    return this.#seen;
  }

  show(): void {
    const { window } = this.#attachment.terminal;
    if (this.#isOver) return;
    if (this.#sent < window.start) {
      return this.#fail(new OrchestratorError("RATE_LIMITED", { message: "The viewer reads too slowly." }));
    }
    this.#sendTo(Math.min(window.end, this.#seen + windowBytes));
  }

  #sendTo(end: number): void {
    while (this.#sent < end) {
      const piece = this.#attachment.terminal.window.read(this.#sent, Math.min(frameBytes, end - this.#sent));
      this.#sent += piece.length;
      this.#send(piece);
    }
  }

  #send(frame: Uint8Array | string): void {
    if (this.#isOver) return;
    this.#socket.send(frame);
    if (this.#socket.bufferedBytes <= mostUnreadBytes) return;
    this.#end();
    this.#socket.destroy();
  }

  inputTaken(through: number): void {
    this.#readOn();
    this.#tell({ type: "taken", offset: through - this.#typedBefore });
  }

  resized(cols: number, rows: number): void {
    this.#tell({ type: "resized", cols, rows });
  }

  ended({ status, reason, exitCode }: TerminalEnd): void {
    if (this.#isOver) return;
    // All of it: there is no later.
    const { window } = this.#attachment.terminal;
    if (this.#sent >= window.start) this.#sendTo(window.end);
    if (exitCode !== undefined) this.#tell({ type: "exit", exit_code: exitCode });
    this.#tell({ type: "closed", status, reason });
    this.#end();
    this.#socket.close(closeCode.normal, reason);
  }

  frame(frame: Uint8Array | string): void {
    this.#waiting += 1;
    if (this.#waiting >= mostWaiting) this.#socket.pause();
    this.#work = this.#work
      .then(() => this.#take(frame))
      .catch((error: unknown) => this.#fail(error))
      .then(() => {
        this.#waiting -= 1;
        this.#readOn();
      });
  }

  closed(): void {
    this.#end();
  }

  async #take(frame: Uint8Array | string): Promise<void> {
    if (this.#isOver) return;
    if (typeof frame !== "string") return this.#type(frame);
    const message = parseViewerMessage(frame);
    const { terminal } = this.#attachment;
    switch (message.type) {
      case "attach":
        throw broken("The viewer is attached already.");
      case "ack":
        this.#seen = Math.min(this.#sent, Math.max(this.#seen, message.offset));
        this.show();
        return terminal.noteSeen(this);
      case "resize":
        if (!this.types) return this.#warn("Only who opened the terminal may change it.");
        return terminal.resize(message.cols, message.rows);
    }
  }

  #begin(): void {
    const { terminal, types, signal, lastOffset } = this.#attachment;
    const { window, document } = terminal;
    const from = Math.max(terminal.offered, Math.min(lastOffset ?? 0, window.end));
    this.#sent = from;
    this.#seen = from;
    terminal.join(this);
    // Before anything may be typed: what others typed and nobody took leaves so much less room.
    if (types && terminal.untaken >= othersBytes) this.#tell({ type: "taken", offset: -terminal.untaken });
    const { session_id, node_id, agent_name } = document;
    const { cols, rows } = terminal.size;
    this.#tell({ type: "opened", session_id, node_id, agent_name, offset: from, types, cols, rows });
    const refuse = (): void =>
      this.#fail(isStopping(signal) ? signal.reason : new OrchestratorError("UNAUTHENTICATED"));
    signal.addEventListener("abort", refuse, { once: true });
    if (signal.aborted) return refuse();
    this.show();
    void terminal.noteSeen(this);
    if (terminal.end !== null) this.ended(terminal.end);
  }

  async #type(bytes: Uint8Array): Promise<void> {
    const { terminal, types } = this.#attachment;
    if (!types) return this.#warn("Only who opened the terminal may type.");
    if (bytes.length > mostInputBytes) throw broken("A piece of input is larger than 64 KiB.");
    await terminal.type(bytes);
    if (terminal.untaken >= mostUntakenBytes) this.#socket.pause();
  }

  #readOn(): void {
    if (this.#waiting < mostWaiting && this.#attachment.terminal.untaken < mostUntakenBytes)
      this.#socket.resume();
  }

  #warn(message: string): void {
    this.#tell({ type: "warning", code: "FORBIDDEN", message });
  }

  #tell(message: object): void {
    this.#send(JSON.stringify(message));
  }

  #fail(error: unknown): void {
    if (this.#isOver) return;
    this.#end();
    refuseViewer(this.#socket, error);
  }

  #end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#attachment.terminal.leave(this);
    this.#attachment.release();
  }
}
