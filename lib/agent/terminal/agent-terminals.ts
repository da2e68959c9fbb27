/**
 * The terminals of an agent. One of them:
 *
 *   open --the program ends, or close--> draining --all is sent--> closed
 *
 * open:     output goes out as far as it was granted, then the program waits; what is typed goes to the program. A little goes out
 *           at once, as the echo of a key does; of a program that prints much, what comes within a millisecond goes out together
 * draining: the program has ended; what it wrote last goes out as it is granted
 * closed:   `terminal.closed` was sent, after the last byte
 *
 * A connection that ends closes all of them, and nothing that they started is left.
 */
import { systemClock, type Timer } from "../../clock.ts";
import { OrchestratorError } from "../../errors.ts";
import { programGroups } from "../../host/local-programs.ts";
import type { Logger } from "../../logger.ts";
import type { AgentMessage, MessageOf, OrchestratorMessage } from "../../wire/messages.ts";
import type { AgentOptions } from "../agent-options.ts";
import { loadNodePty } from "./node-pty.ts";
import type { OpenPty, Pty } from "./pty.ts";
import { endLeftTerminals } from "./terminal-processes.ts";
import { type TerminalSetup, toProgram } from "./terminal-setup.ts";

/** Terminals that one agent has open at most. */
const mostTerminals = 100;
/** Bytes of output that go into one frame. */
const frameBytes = 65_536;
/** After so many bytes within {@link gatherMs} output is gathered for the rest of it, unless it fills a frame. */
const littleBytes = 8_192;
const gatherMs = 1;
/** What was typed and taken is told in steps: the orchestrator lets four of them wait. */
const takenStepBytes = 65_536;
/** Who prints more than this after a hang-up does not heed it: the orchestrator has granted 16 MiB for all that follows. */
const mostFarewellBytes = 1_048_576;
/** Bytes that wait here before the program has to. */
const heldBytes = 131_072;

/** What terminals are made with. */
export interface AgentTerminalsOptions {
  nodeId: string;
  /** False: nobody may open one. */
  setup: TerminalSetup | false;
  logger: Logger;
  /** Loads what makes pseudoterminals; throws where there is nothing. */
  load: () => OpenPty;
  send: (message: AgentMessage) => boolean;
  sendStream: (streamId: string, data: Uint8Array) => boolean;
}

type Opening = MessageOf<OrchestratorMessage, "terminal.open">;

/** The terminals that are open on a machine. */
export class AgentTerminals {
  readonly #options: AgentTerminalsOptions;
  readonly #open = new Map<string, AgentTerminal>();
  #openPty: OpenPty | null = null;

  constructor(options: AgentTerminalsOptions) {
    this.#options = options;
  }

  /** How many are open. */
  get size(): number {
    return this.#open.size;
  }

  /**
   * Opens one. Told twice, it is there once.
   *
   * @throws {OrchestratorError} `TERMINALS_REFUSED`; `TERMINALS_UNAVAILABLE`; `TOO_MANY_TERMINALS`; `HOST_ERROR`.
   */
  open(opening: Opening): void {
    const { setup, nodeId, load } = this.#options;
    const { session_id } = opening;
    if (setup === false) throw new OrchestratorError("TERMINALS_REFUSED");
    if (this.#open.has(session_id)) return;
    if (this.#open.size >= mostTerminals) throw new OrchestratorError("TOO_MANY_TERMINALS");
    this.#openPty ??= load();
    const program = toProgram(setup, nodeId, opening);
    const terminal = new AgentTerminal(session_id, {
      ...this.#options,
      closed: () => this.#open.delete(session_id),
    });
    terminal.start((handlers) => this.#openPty!(program, handlers));
    this.#open.set(session_id, terminal);
  }

  /** Carries out what is ordered of one; nothing happens where it is closed. */
  handle(command: Exclude<Extract<OrchestratorMessage, { type: `terminal.${string}` }>, Opening>): void {
    const terminal = this.#open.get(command.session_id);
    switch (command.type) {
      case "terminal.resize":
        return terminal?.resize(command.cols, command.rows);
      case "terminal.grant":
        return terminal?.grant(command.through);
      case "terminal.close":
        return terminal?.close();
    }
  }

  /** Types; nothing happens where it is closed. */
  type(sessionId: string, data: Uint8Array): void {
    this.#open.get(sessionId)?.type(data);
  }

  /** Ends all of them: the connection is gone, or the agent stops. Nobody is told. */
  endAll(): void {
    for (const terminal of this.#open.values()) terminal.drop();
    this.#open.clear();
  }
}

interface TerminalOptions extends Pick<AgentTerminalsOptions, "send" | "sendStream" | "logger"> {
  closed: () => void;
}

class AgentTerminal {
  readonly #id: string;
  readonly #options: TerminalOptions;
  #pty: Pty | null = null;
  /** Output that is not sent yet. */
  #held: Uint8Array[] = [];
  #heldBytes = 0;
  #sent = 0;
  #granted = 0;
  #taken = 0;
  #toldTaken = 0;
  /** Set for a while after something was sent, with how much that is. */
  #gathering: Timer | null = null;
  #sentMeanwhile = 0;
  #exitCode: number | null = null;
  #reason = "exit";
  #farewellBytes = 0;
  #isOver = false;

  constructor(id: string, options: TerminalOptions) {
    this.#id = id;
    this.#options = options;
  }

  start(
    open: (handlers: { output: (bytes: Uint8Array) => void; ended: (exitCode: number) => void }) => Pty,
  ): void {
    this.#pty = open({
      output: (bytes) => this.#output(bytes),
      ended: (exitCode) => {
        this.#exitCode = exitCode;
        this.#flush();
      },
    });
  }

  type(data: Uint8Array): void {
    const { length } = data;
    void this.#pty?.write(data).then(() => {
      this.#taken += length;
      if (this.#isOver || this.#taken - this.#toldTaken < takenStepBytes) return;
      this.#toldTaken = this.#taken;
      this.#options.send({ type: "terminal.taken", session_id: this.#id, through: this.#taken });
    });
  }

  resize(cols: number, rows: number): void {
    this.#pty?.resize(cols, rows);
  }

  grant(through: number): void {
    this.#granted = Math.max(this.#granted, through);
    this.#flush();
  }

  /** Hangs up; told again, ends it at once. */
  close(): void {
    if (this.#reason === "closed") return this.#pty?.kill();
    this.#reason = "closed";
    this.#pty?.hangUp();
  }

  /** Ends it without a word. */
  drop(): void {
    this.#isOver = true;
    this.#gathering?.cancel();
    this.#pty?.kill();
  }

  #output(bytes: Uint8Array): void {
    if (this.#isOver) return;
    const last = this.#held.pop();
    this.#held.push(...(last === undefined ? [bytes] : joined(last, bytes)));
    this.#heldBytes += bytes.length;
    if (this.#reason === "closed") this.#boundFarewell(bytes.length);
    if (this.#heldBytes >= heldBytes) this.#pty?.pause();
    if (this.#sentMeanwhile >= littleBytes && this.#heldBytes < frameBytes) return;
    this.#sentMeanwhile += this.#heldBytes;
    this.#gather();
    this.#flush();
  }

  #boundFarewell(length: number): void {
    if (this.#farewellBytes > mostFarewellBytes) return;
    this.#farewellBytes += length;
    if (this.#farewellBytes > mostFarewellBytes) this.#pty?.kill();
  }

  #gather(): void {
    // A program prints in the machine's time, whatever time the agent is given.
    this.#gathering ??= systemClock.setTimer(gatherMs, () => {
      this.#gathering = null;
      this.#sentMeanwhile = this.#heldBytes;
      if (this.#heldBytes === 0) return;
      this.#gather();
      this.#flush();
    });
  }

  #flush(): void {
    if (this.#isOver) return;
    while (this.#heldBytes > 0 && this.#sent < this.#granted) {
      const piece = this.#take(Math.min(frameBytes, this.#granted - this.#sent));
      this.#sent += piece.length;
      if (!this.#options.sendStream(this.#id, piece)) return;
    }
    if (this.#heldBytes < heldBytes) this.#pty?.resume();
    if (this.#exitCode === null || this.#heldBytes > 0) return;
    this.#isOver = true;
    this.#gathering?.cancel();
    this.#options.closed();
    this.#options.send({
      type: "terminal.closed",
      session_id: this.#id,
      reason: this.#reason,
      exit_code: this.#exitCode,
    });
  }

  #take(most: number): Uint8Array {
    const all = this.#held.length === 1 ? this.#held[0]! : Buffer.concat(this.#held);
    const piece = all.subarray(0, most);
    const rest = all.subarray(most);
    this.#held = rest.length > 0 ? [rest] : [];
    this.#heldBytes = rest.length;
    return piece;
  }
}

/** One piece of two that were read one after the other into the same memory, as a terminal's are; else both. */
function joined(first: Uint8Array, second: Uint8Array): Uint8Array[] {
  const { buffer, byteOffset, length } = first;
  if (second.buffer !== buffer || second.byteOffset !== byteOffset + length) return [first, second];
  return [new Uint8Array(buffer, byteOffset, length + second.length)];
}

/** The terminals of an agent. What an earlier process of it left running is ended. */
export function terminalsBy(
  { terminals, stateDir }: Pick<AgentOptions, "terminals" | "stateDir">,
  parts: Omit<AgentTerminalsOptions, "setup" | "load">,
): AgentTerminals {
  const left = endLeftTerminals(parts.nodeId);
  if (left > 0) parts.logger.warn("What terminals had left running was ended.", { processes: left });
  const load = (): OpenPty => loadNodePty(programGroups(stateDir));
  return new AgentTerminals({ ...parts, setup: terminals ?? {}, load });
}
