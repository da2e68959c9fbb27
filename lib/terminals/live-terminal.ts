/**
 * A terminal, at the process that holds its agent:
 *
 *   opening --the agent answers--> open --the program ends, or a reason to close--> closing --all is recorded--> ended
 *
 * opening: at most 30 s; nobody sees it, and the agent may send nothing: the recording has not begun
 * open:    output is recorded, then shown; the agent may send 1 MiB beyond the most that anybody who types has seen, so that a slow viewer
 *          holds the program up and fills nothing
 * closing: at most 10 s for the agent to send the rest
 * ended:   from any state, once; whoever attaches is shown what it had to show, and that it is over
 *
 * Nobody attached for 60 s, nobody typing for `terminalIdleSeconds`, or `terminalMaxSeconds` after it was opened, it is closed.
 */
import { type Timer, toTimestamp } from "../clock.ts";
import type { Context } from "../context.ts";
import { isOrchestratorError, OrchestratorError } from "../errors.ts";
import type { AgentMessage, MessageOf, OrchestratorMessage } from "../wire/messages.ts";
import { closingCommands, type TerminalDocument } from "./documents.ts";
import { OutputWindow } from "./output-window.ts";
import { Recorder, type RecorderParts } from "./recorder.ts";
import type { TerminalEnd, TerminalViewer } from "./terminal-viewer.ts";

/** Output that the agent may send beyond what was seen. */
const windowBytes = 1_048_576;
/** Output that is kept: whoever takes the place of one who types begins within the newest half, and has what may still come before them. */
const keptBytes = 2 * windowBytes;
/** A grant is worth a message from so many bytes on. */
const grantStepBytes = 262_144;
/** Output that may follow while it is closed: far more than an agent that obeys holds. */
const restBytes = 16 * windowBytes;
const detachedMs = 60_000;
const closingMs = 10_000;

/** What a terminal is held with. */
export interface LiveTerminalParts extends RecorderParts {
  context: Context;
  /** Writes how it ended; must not throw. */
  ended: (terminal: LiveTerminal, end: TerminalEnd) => Promise<void>;
}

type Bare<M> = M extends { type: string } ? Omit<M, "id" | "not_after" | "session_id"> : never;

/** A terminal that is open. */
export class LiveTerminal {
  readonly document: Readonly<TerminalDocument>;
  /** What was last recorded of its size. */
  size: Readonly<{ cols: number; rows: number }>;
  /** Resolves when its end is written. */
  readonly done: Promise<void>;
  #isDone = (): void => {};
  /** How it ended, once that is written. */
  end: TerminalEnd | null = null;
  readonly window = new OutputWindow(keptBytes);
  readonly #parts: LiveTerminalParts;
  readonly #place: { session_id: string; node_id: string };
  readonly #recorder: Recorder;
  readonly #viewers = new Set<TerminalViewer>();
  readonly #timers = new Map<string, Timer>();
  #state: "opening" | "open" | "closing" | "ended" = "opening";
  /** What came and is not recorded. */
  #incoming: Uint8Array[] = [];
  #received = 0;
  #granted = 0;
  /** The most that anybody who types has seen, also when nobody is attached: what was granted by it is not taken back. */
  #seen = 0;
  #typed = 0;
  #taken = 0;
  #reason: string | null = null;
  #recording: Promise<void> = Promise.resolve();
  #isRecording = false;

  constructor(document: Readonly<TerminalDocument>, parts: LiveTerminalParts) {
    this.document = this.size = document;
    this.#parts = parts;
    this.#place = { session_id: document.session_id, node_id: document.node_id };
    this.done = new Promise((resolve) => (this.#isDone = resolve));
    this.#recorder = new Recorder(parts, document.session_id, (error) => this.#loseRecording(error));
  }

  /** Begins the recording, and lets the agent send. Nothing is begun where it has ended: nobody would end it. */
  async begin(): Promise<void> {
    if (this.#state === "ended") return;
    await this.#recorder.begin(this.document);
    // It may have been closed, or have ended, meanwhile.
    if (this.#state !== "opening") return;
    this.#state = "open";
    const { options } = this.#parts.context;
    this.#after("longest", options.terminalMaxSeconds * 1000, () => this.close("too_long"));
    this.#watchIdleness();
    this.#watchAttachment();
    await this.#grant();
  }

  /** Whether its agent has not answered yet. */
  get isOpening(): boolean {
    return this.#state === "opening";
  }

  get viewers(): number {
    return this.#viewers.size;
  }

  /** Place of the oldest byte that somebody gets who attaches. */
  get offered(): number {
    return Math.max(this.window.start, this.window.end - windowBytes);
  }

  /** Bytes that were ever typed. */
  get typed(): number {
    return this.#typed;
  }

  /** Of these, how many the agent has not taken, as far as it said. */
  get untaken(): number {
    return this.#typed - this.#taken;
  }

  /** Somebody begins to see it; one who types takes the place of the one before. Errors where it is not open yet. */
  join(viewer: TerminalViewer): void {
    if (this.#state === "opening")
      throw new OrchestratorError("INVALID_TRANSITION", { message: "The terminal is not open yet." });
    if (viewer.types) this.#replaceOther();
    this.#viewers.add(viewer);
    this.#watchAttachment();
  }

  #replaceOther(): void {
    for (const other of this.#viewers) {
      if (!other.types) continue;
      this.#viewers.delete(other);
      const end = { status: "closed", reason: "attached_elsewhere", recording: "complete" } as const;
      other.ended({ ...end, bytes: this.#received });
    }
  }

  leave(viewer: TerminalViewer): void {
    if (this.#viewers.delete(viewer)) this.#watchAttachment();
  }

  /** The one who types has seen more. */
  async noteSeen(viewer: TerminalViewer): Promise<void> {
    if (!viewer.types || viewer.seen <= this.#seen) return;
    this.#seen = viewer.seen;
    await this.#grant();
  }

  async type(bytes: Uint8Array): Promise<void> {
    if (this.#state !== "open") return;
    this.#typed += bytes.length;
    this.#watchIdleness();
    const { node_id, session_id } = this.#place;
    await this.#attempt(() => this.#parts.context.transport.sendStream(node_id, session_id, bytes));
  }

  async resize(cols: number, rows: number): Promise<void> {
    if (this.#state !== "open") return;
    await this.#record(() => this.#recorder.resized(cols, rows));
    this.size = { cols, rows };
    for (const viewer of this.#viewers) viewer.resized(cols, rows);
    await this.#send({ type: "terminal.resize", cols, rows });
  }

  /**
   * The agent sent output.
   *
   * @throws {OrchestratorError} `PROTOCOL_ERROR` for more than it was granted.
   */
  output(bytes: Uint8Array): void {
    if (this.#state === "ended") return;
    this.#received += bytes.length;
    if (this.#received > this.#granted)
      throw new OrchestratorError("PROTOCOL_ERROR", { message: "A terminal sent more than it was granted." });
    this.#incoming.push(bytes.slice());
    if (this.#isRecording) return;
    this.#isRecording = true;
    void this.#record(() => this.#recordIncoming());
  }

  /** The agent took what was typed. */
  taken(through: number): void {
    this.#taken = Math.min(this.#typed, Math.max(this.#taken, through));
    for (const viewer of this.#viewers) if (viewer.types) viewer.inputTaken(this.#taken);
  }

  /** Ends it from here. */
  async close(reason: string): Promise<void> {
    if (this.#state !== "open" && this.#state !== "opening") return;
    this.#state = "closing";
    this.#reason = reason;
    this.#after("closing", closingMs, () => this.#end({ status: "interrupted", reason }));
    this.#granted = this.#received + restBytes;
    await this.#send({ type: "terminal.grant", through: this.#granted });
    for (const command of closingCommands(reason)) await this.#send(command);
  }

  /** The program ended, and all of its output came. */
  closed({ reason, exit_code }: MessageOf<AgentMessage, "terminal.closed">): Promise<void> {
    const exit = exit_code === undefined ? {} : { exitCode: exit_code };
    const own = this.#reason ?? (reason === "exit" ? "exit" : "closed");
    return this.#end({ status: "closed", reason: own, ...exit });
  }

  /** The agent is gone, or this process is about to be. */
  interrupt(reason: string): Promise<void> {
    return this.#end({ status: "interrupted", reason });
  }

  async #end(end: Pick<TerminalEnd, "status" | "reason" | "exitCode">): Promise<void> {
    if (this.#state === "ended") return;
    this.#state = "ended";
    for (const timer of this.#timers.values()) timer.cancel();
    let isWhole = end.status === "closed" && end.reason !== "recording_failed";
    try {
      await this.#recording;
      await this.#recorder.end();
    } catch {
      isWhole = false;
    }
    for (const viewer of this.#viewers) viewer.show();
    const recording = isWhole ? "complete" : this.#recorder.size > 0 ? "partial" : "missing";
    const whole: TerminalEnd = { ...end, bytes: this.window.end, recording };
    await this.#parts.ended(this, whole);
    this.end = whole;
    this.#isDone();
    for (const viewer of this.#viewers) viewer.ended(whole);
    this.#viewers.clear();
  }

  /** Records what came, and what comes meanwhile, and shows it then. */
  async #recordIncoming(): Promise<void> {
    try {
      while (this.#incoming.length > 0) {
        const bytes = this.#incoming.length === 1 ? this.#incoming[0]! : Buffer.concat(this.#incoming);
        this.#incoming = [];
        await this.#recorder.output(bytes);
        this.window.push(bytes);
        for (const viewer of this.#viewers) viewer.show();
      }
    } finally {
      this.#isRecording = false;
    }
  }

  /** What can't be recorded is not shown: the terminal ends. */
  #record(write: () => Promise<void>): Promise<void> {
    this.#recording = this.#recording.then(write);
    return this.#recording.catch((error: unknown) => this.#loseRecording(error));
  }

  #loseRecording(error: unknown): void {
    if (this.#state === "ended") return;
    this.#parts.context.logger.error("A terminal could not be recorded.", { error, ...this.#place });
    for (const command of closingCommands("recording_failed")) void this.#send(command);
    void this.#end({ status: "closed", reason: "recording_failed" });
  }

  async #grant(): Promise<void> {
    const through = this.#seen + windowBytes;
    if (this.#state !== "open" || through < this.#granted + grantStepBytes) return;
    this.#granted = through;
    await this.#send({ type: "terminal.grant", through });
  }

  #watchIdleness(): void {
    this.#after("idle", this.#parts.context.options.terminalIdleSeconds * 1000, () => this.close("idle"));
  }

  #watchAttachment(): void {
    const isAttached = [...this.#viewers].some(({ types }) => types);
    // Who watches, and comes or goes, puts it off no further.
    if (!isAttached && this.#timers.has("attachment")) return;
    this.#timers.get("attachment")?.cancel();
    this.#timers.delete("attachment");
    if (!isAttached) this.#after("attachment", detachedMs, () => this.close("detached"));
  }

  #after(name: string, ms: number, work: () => Promise<void>): void {
    this.#timers.get(name)?.cancel();
    if (this.#state === "ended") return;
    const timer = this.#parts.context.clock.setTimer(ms, () => void work());
    this.#timers.set(name, timer);
  }

  #send(message: Bare<Extract<OrchestratorMessage, { type: `terminal.${string}` }>>): Promise<void> {
    const [{ context }, { session_id }] = [this.#parts, this.#place];
    const not_after = toTimestamp(context.fleetTime.now() + 60_000);
    const command = { ...message, session_id, id: context.ids.next(), not_after } as OrchestratorMessage;
    return this.#attempt(() => context.transport.send(this.document.node_id, command));
  }

  /** An agent that has just gone is heard of by `disconnected`. Never rejects: of most that is sent nobody waits for the end. */
  async #attempt(send: () => Promise<void>): Promise<void> {
    try {
      await send();
    } catch (error) {
      const level = isOrchestratorError(error) ? "debug" : "error";
      this.#parts.context.logger[level]("A terminal's agent was not reached.", { error, ...this.#place });
    }
  }
}
