/**
 * A terminal of a machine in the terminal of its operator:
 *
 *   connecting --opened--> attached --the shell ends--> over
 *        ^                    |
 *        '---- a new ticket --' the connection broke off, for a minute
 *
 * While it is attached the operator's terminal is raw: every key goes to the machine. Whatever ends it, the terminal is as before.
 */
import { setTimeout as delay } from "node:timers/promises";
import { WebSocket } from "ws";
import type { TerminalTicket } from "fleetwright";
import { ApiError } from "../../client/api-error.ts";
import { isPassing } from "../../client/retry.ts";
import { attachTerminal } from "../../client/terminal.ts";
import type { AttachedTerminal, TerminalMessage, TerminalSocket } from "../../client/terminal.ts";
import type { CommandCall } from "../call.ts";
import { exitCode } from "../context.ts";
import type { ExitCode } from "../context.ts";
import { UsageError } from "../failure.ts";
import { toLine, toSafeText } from "../text.ts";
import { Picture } from "./picture.ts";
import { toShellExitCode } from "./shell-exit-code.ts";
import type { ShellExitCode } from "./shell-exit-code.ts";

/** Options of `fleetwright terminal open`. */
export interface OpenOptions {
  shell?: string;
  reason?: string;
}

/** Options of `fleetwright terminal replay`. */
export interface ReplayOptions {
  text?: true;
  search?: string;
  speed?: number;
}

const returnMs = 60_000;
const retryMs = 1_000;
/** Width and height of a machine's terminal at most. */
const mostCharacters = 1_000;
/** Ctrl-], as of telnet: twice in a row it leaves. */
const leaveKey = 0x1d;
/** What ends the command from outside, as Ctrl-C does where the operator's terminal is not raw. */
const endSignals = ["SIGTERM", "SIGHUP", "SIGINT"] as const;
/** Turns off what a program may have left on: alternate screen, mouse, bracketed paste, hidden cursor, colours, scrolling region. */
const resetTerminal =
  "\u001b[?1047l\u001b[?1000l\u001b[?1002l\u001b[?1003l\u001b[?1006l\u001b[?2004l\u001b[?25h\u001b7\u001b[r\u001b8\u001b[0m";

/** Size of the operator's terminal, as far as a terminal of a machine can have it. One that does not know its own has 0. */
function sizeOf({ columns, rows }: { columns: number; rows: number }): { cols: number; rows: number } {
  return { cols: Math.min(columns || 80, mostCharacters), rows: Math.min(rows || 24, mostCharacters) };
}

/** Opens a terminal and stays at it. Resolves with the exit code of its shell. */
export async function openTerminal(
  call: CommandCall,
  nodeId: string,
  options: OpenOptions,
): Promise<ShellExitCode | ExitCode> {
  const { stdin, stdout } = process;
  if (!stdin.isTTY || !stdout.isTTY)
    throw new UsageError(
      "A terminal can be opened at a terminal only: standard input and output must be one.",
    );
  const size = sizeOf(stdout);
  const { session_id, ...ticket } = await call.client.terminals.open(nodeId, { ...size, ...options });
  const seat = new Seat(call, session_id);
  const restore = makeRaw(seat);
  try {
    await seat.stay(ticket);
  } finally {
    restore();
  }
  // Not before: a program that has the whole screen would take it away with itself.
  return seat.tellEnd();
}

/** Gives every key to the seat until the function returned is called; the terminal is as before then, also where the process is ended. */
function makeRaw(seat: Seat): () => void {
  const { stdin, stdout } = process;
  const type = (bytes: Buffer): void => seat.type(bytes);
  const resize = (): void => seat.resize();
  const leave = (): void => seat.leave();
  stdin.setRawMode(true);
  stdin.on("data", type).resume();
  stdout.on("resize", resize);
  const reset = (): void => {
    stdin.setRawMode(false);
    stdout.write(resetTerminal);
  };
  process.once("exit", reset);
  for (const signal of endSignals) process.on(signal, leave);
  return () => {
    for (const signal of endSignals) process.off(signal, leave);
    process.off("exit", reset);
    stdout.off("resize", resize);
    stdin.off("data", type).pause();
    reset();
  };
}

class Seat {
  readonly #call: CommandCall;
  readonly #sessionId: string;
  #terminal: AttachedTerminal | null = null;
  #hasLeft = false;
  #exitCode: ShellExitCode | ExitCode | null = null;
  #end: Extract<TerminalMessage, { type: "closed" | "refused" }> | null = null;
  #lastKey = 0;

  constructor(call: CommandCall, sessionId: string) {
    this.#call = call;
    this.#sessionId = sessionId;
  }

  type(bytes: Uint8Array): void {
    for (const key of bytes) {
      if (key === leaveKey && this.#lastKey === leaveKey) return this.leave();
      this.#lastKey = key;
    }
    this.#terminal?.type(bytes);
  }

  resize(): void {
    const { cols, rows } = sizeOf(process.stdout);
    this.#terminal?.resize(cols, rows);
  }

  leave(): void {
    this.#hasLeft = true;
    this.#terminal?.leave();
  }

  /** Resolves when the terminal has ended, or was left. */
  async stay(first: TerminalTicket): Promise<void> {
    let ticket: TerminalTicket | null = first;
    let offset = 0;
    while (ticket !== null) {
      offset = await this.#attach(ticket, offset);
      ticket = this.#hasLeft || this.#end !== null ? null : await this.#comeBack();
    }
    if (this.#hasLeft) await this.#call.client.terminals.close(this.#sessionId).catch(() => {});
    // Refused because it is long over: how it ended says more.
    else if (this.#end?.type === "refused") await this.#askEnd().catch(() => {});
  }

  /** Says why it ended, unless its shell did or it was left, and gives the exit code. */
  tellEnd(): ShellExitCode | ExitCode {
    if (this.#hasLeft) return exitCode.ok;
    if (this.#end?.type === "refused") this.#say(`${this.#end.message} (${this.#end.code})`);
    else if (this.#end?.reason !== "exit")
      this.#say(`The terminal ended: ${this.#end?.reason ?? "the server can't be reached"}.`);
    return this.#exitCode ?? exitCode.failure;
  }

  /** Resolves with the place after the last byte when the connection is over. */
  #attach(ticket: TerminalTicket, lastOffset: number): Promise<number> {
    return new Promise((resolve) => {
      const terminal = attachTerminal(this.#call.client.url, ticket, {
        connect: (url, protocol) =>
          new WebSocket(url, protocol, { perMessageDeflate: false }) as unknown as TerminalSocket,
        lastOffset,
        output: write,
        message: (message) => this.#hear(message),
        ended: () => {
          this.#terminal = null;
          resolve(terminal.offset);
        },
      });
      this.#terminal = terminal;
    });
  }

  #hear(message: TerminalMessage): void {
    if (message.type === "opened") this.resize();
    else if (message.type === "exit") this.#exitCode = toShellExitCode(message.exit_code);
    else if (message.type === "closed" || message.type === "refused") this.#end = message;
    else if (message.type === "warning") this.#say(message.message);
  }

  async #comeBack(): Promise<TerminalTicket | null> {
    for (const until = performance.now() + returnMs; performance.now() < until && !this.#hasLeft;) {
      await delay(retryMs);
      try {
        const ticket = await this.#call.client.terminals.ticket(this.#sessionId);
        return this.#hasLeft ? null : ticket;
      } catch (error) {
        if (!(error instanceof ApiError)) throw error;
        const { status, code, message } = error;
        if (!isPassing(error) && status !== 503) {
          this.#end = {
            type: "refused",
            code,
            message: `The terminal can't be attached to again: ${message}`,
          };
          return null;
        }
      }
    }
    return null;
  }

  /** It ended while there was no connection: its record says how. */
  async #askEnd(): Promise<void> {
    const { status, close_reason, exit_code } = await this.#call.client.terminals.get(this.#sessionId);
    if (status === "active" || close_reason === undefined) return;
    this.#end = { type: "closed", status, reason: close_reason };
    if (exit_code !== undefined) this.#exitCode = toShellExitCode(exit_code);
  }

  #say(text: string): void {
    this.#call.context.stderr(`\r\n${toLine(text)}\r\n`);
  }
}

/** Resolves when the terminal has taken it: an operator's own that is slow slows the machine's. */
function write(bytes: Uint8Array): Promise<void> {
  return new Promise((resolve) => void process.stdout.write(bytes, () => resolve()));
}

/** Plays a terminal as it was, or prints its text. */
export async function replayTerminal(
  call: CommandCall,
  sessionId: string,
  options: ReplayOptions,
): Promise<void> {
  const { text, search, speed = 1 } = options;
  if (!(speed > 0)) throw new UsageError("--speed must be a number above 0.");
  const isText = text === true || search !== undefined;
  const form = isText ? { format: "text" as const, ...(search !== undefined && { search }) } : {};
  const stream = await call.client.terminals.transcript(sessionId, form);
  const decoder = new TextDecoder();
  if (isText) {
    for await (const piece of stream)
      call.context.stdout(toSafeText(decoder.decode(piece, { stream: true })));
    return;
  }
  if (!process.stdout.isTTY) {
    for await (const piece of stream) call.context.stdout(decoder.decode(piece, { stream: true }));
    return;
  }
  const restore = restoring();
  try {
    await play(stream, speed);
  } finally {
    restore();
  }
}

/** The operator's terminal is as before when the function returned is called, and where a signal ends the process. */
function restoring(): () => void {
  const end = (signal: NodeJS.Signals): void => {
    restore();
    process.kill(process.pid, signal);
  };
  const restore = (): void => {
    for (const signal of endSignals) process.off(signal, end);
    process.stdout.write(resetTerminal);
  };
  for (const signal of endSignals) process.on(signal, end);
  return restore;
}

async function play(stream: AsyncIterable<Uint8Array>, speed: number): Promise<void> {
  const began = performance.now();
  const decoder = new TextDecoder();
  const picture = new Picture();
  let rest = "";
  for await (const piece of stream) {
    const lines = (rest + decoder.decode(piece, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) {
      const event = JSON.parse(line) as unknown;
      if (!Array.isArray(event) || event[1] !== "o") continue;
      const wait = (Number(event[0]) * 1000) / speed - (performance.now() - began);
      if (wait > 0) await delay(wait);
      await write(new TextEncoder().encode(picture.take(String(event[2]))));
    }
  }
}
