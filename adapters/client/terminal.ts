/** Somebody at a terminal, over a WebSocket: what comes, what is typed, and coming back after a break. */
import type { TerminalTicket } from "fleetwright";

/** What is needed of a WebSocket: that of browsers, of Node 22, or of the package `ws`. */
export interface TerminalSocket {
  binaryType: string;
  readonly readyState: number;
  addEventListener(type: "open" | "error" | "close", listener: () => void): void;
  addEventListener(type: "message", listener: (event: { data: unknown }) => void): void;
  send(data: string | Uint8Array): void;
  close(code?: number): void;
}

/** What the server says of a terminal beside its output. */
export type TerminalMessage =
  | {
      type: "opened";
      session_id: string;
      node_id: string;
      agent_name: string;
      /** Place of the first byte that follows, in all that the terminal ever showed. */
      offset: number;
      /** Whether it may be typed to; else it is watched. */
      types: boolean;
      cols: number;
      rows: number;
    }
  | { type: "resized"; cols: number; rows: number }
  /** So many bytes of input of this connection were taken; below 0, that much still waits that was typed before it. */
  | { type: "taken"; offset: number }
  | { type: "exit"; exit_code: number }
  | { type: "closed"; status: "closed" | "interrupted"; reason: string }
  | { type: "warning"; code: string; message: string }
  | { type: "refused"; code: string; message: string };

/** How a terminal is attached to. */
export interface AttachOptions {
  /** Makes the connection. Default the global `WebSocket`. */
  connect?: (url: string, protocol: string) => TerminalSocket;
  /** Place after the last byte that was seen, to go on there. Default what is still there, 1 MiB at most. */
  lastOffset?: number;
  /**
   * Takes the next bytes; they are acknowledged, and so more of them come, when what it returns has resolved. Where it, or `message`,
   * throws or rejects, the connection is left, and no more output is handed over.
   */
  output: (bytes: Uint8Array) => void | Promise<void>;
  /** Hears what the server says. */
  message?: (message: TerminalMessage) => void;
  /** The connection is over: for good where the last message was `closed` or `refused`. Called once. */
  ended: () => void;
}

/** A terminal that is attached to. */
export interface AttachedTerminal {
  /** Place after the last byte that was taken. */
  readonly offset: number;
  /** Types. What is typed before the terminal is attached to waits for that; after the connection is over it is dropped. */
  type(bytes: Uint8Array): void;
  resize(cols: number, rows: number): void;
  /** Leaves; the terminal goes on for a minute. */
  leave(): void;
}

/** A piece of input that the server takes. */
const mostInputBytes = 65_536;

/** Input that may be on its way; more waits here, so that the server goes on reading what is acknowledged. */
const inputWindowBytes = 196_608;

/** What is typed, and waits until the terminal is attached to, and until the server has taken what was sent before. */
class InputWindow {
  readonly #send: (bytes: Uint8Array) => void;
  #isOpen = false;
  readonly #waiting: Uint8Array[] = [];
  #sent = 0;
  #taken = 0;

  constructor(send: (bytes: Uint8Array) => void) {
    this.#send = send;
  }

  add(bytes: Uint8Array): void {
    for (let at = 0; at < bytes.length; at += mostInputBytes)
      this.#waiting.push(bytes.subarray(at, at + mostInputBytes));
    this.#sendMore();
  }

  /** The terminal is attached to. */
  open(): void {
    this.#isOpen = true;
    this.#sendMore();
  }

  /** The server has taken so many bytes in all. */
  taken(offset: number): void {
    this.#taken = offset;
    this.#sendMore();
  }

  #sendMore(): void {
    for (let piece = this.#waiting[0]; this.#isOpen && piece !== undefined; piece = this.#waiting[0]) {
      if (this.#sent + piece.length - this.#taken > inputWindowBytes) return;
      this.#waiting.shift();
      this.#sent += piece.length;
      this.#send(piece);
    }
  }
}

/** The size that was asked for, which waits until the terminal is attached to. */
class FirstSize {
  readonly #send: (size: { cols: number; rows: number }) => void;
  #isOpen = false;
  #waiting: { cols: number; rows: number } | null = null;

  constructor(send: (size: { cols: number; rows: number }) => void) {
    this.#send = send;
  }

  ask(size: { cols: number; rows: number }): void {
    if (this.#isOpen) this.#send(size);
    else this.#waiting = size;
  }

  /** The terminal is attached to. */
  open(): void {
    this.#isOpen = true;
    if (this.#waiting !== null) this.#send(this.#waiting);
  }
}

/** Attaches to a terminal. @param server - Where the server is, e.g. `https://fleet.example:4748`. */
export function attachTerminal(
  server: string,
  { websocket_url, ticket }: TerminalTicket,
  options: AttachOptions,
): AttachedTerminal {
  const base = server.replace(/\/+$/, "").replace(/^http/, "ws");
  const connect = options.connect ?? connectGlobally;
  const socket = connect(base + websocket_url, "fleetwright.terminal.v1");
  return attachOver(socket, ticket, options);
}

function attachOver(socket: TerminalSocket, ticket: string, options: AttachOptions): AttachedTerminal {
  socket.binaryType = "arraybuffer";
  let offset = options.lastOffset ?? 0;
  let taking: Promise<void> = Promise.resolve();
  const send = (data: string | Uint8Array): void => {
    if (socket.readyState === 1) socket.send(data);
  };
  const input = new InputWindow(send);
  const say = (message: object): void => send(JSON.stringify(message));
  const size = new FirstSize((asked) => say({ type: "resize", ...asked }));
  socket.addEventListener("open", () =>
    say({
      type: "attach",
      ticket,
      ...(options.lastOffset !== undefined && { last_offset: options.lastOffset }),
    }),
  );
  let hasGivenUp = false;
  // Whoever fails to take what comes has lost their place in it.
  const giveUp = (): void => {
    hasGivenUp = true;
    socket.close(1000);
  };
  const take = async (bytes: Uint8Array): Promise<void> => {
    if (hasGivenUp) return;
    await options.output(bytes);
    offset += bytes.length;
    say({ type: "ack", offset });
  };
  socket.addEventListener("message", ({ data }) => {
    if (typeof data !== "string") {
      const bytes = new Uint8Array(data as ArrayBuffer);
      taking = taking.then(() => take(bytes)).catch(giveUp);
      return;
    }
    const message = readMessage(data);
    if (message === null) return giveUp();
    if (message.type === "taken") return input.taken(message.offset);
    if (message.type === "opened") {
      size.open();
      input.open();
    }
    // In one order with the output.
    taking = taking
      .then(() => {
        if (message.type === "opened") ({ offset } = message);
        options.message?.(message);
      })
      .catch(giveUp);
  });
  // It is followed by a close.
  socket.addEventListener("error", () => {});
  socket.addEventListener("close", () => void taking.then(options.ended));
  return {
    get offset() {
      return offset;
    },
    type: (bytes) => input.add(bytes),
    resize: (cols, rows) => size.ask({ cols, rows }),
    leave: () => socket.close(1000),
  };
}

/** Null for what no server of ours says: in a listener of a socket nobody could catch an error. */
function readMessage(text: string): TerminalMessage | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && "type" in value ? (value as TerminalMessage) : null;
  } catch {
    return null;
  }
}

function connectGlobally(url: string, protocol: string): TerminalSocket {
  const { WebSocket } = globalThis as unknown as {
    WebSocket: new (url: string, protocol: string) => TerminalSocket;
  };
  return new WebSocket(url, protocol);
}
