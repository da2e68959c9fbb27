/** The terminals of this process: what the transport hears of them, what viewers do, and how they end. */
import type { AccessService } from "../access/access-service.ts";
import type { Streams } from "../access/streams.ts";
import type { AgentService } from "../agents/agent-service.ts";
import { systemCaller, type Caller } from "../callers/caller.ts";
import { toTimestamp } from "../clock.ts";
import type { Context } from "../context.ts";
import { isOrchestratorError, OrchestratorError } from "../errors.ts";
import { eventTable } from "../events.ts";
import { mayPass } from "../internal/is-lasting.ts";
import type { FrameSocket, SocketHandlers } from "../transport/socket.ts";
import { BackgroundWork } from "../upkeep/background-work.ts";
import type { AgentMessage, MessageOf } from "../wire/messages.ts";
import type { TerminalDocument } from "./documents.ts";
import { LeftTerminals } from "./left-terminals.ts";
import { LiveTerminal } from "./live-terminal.ts";
import { openMs, OpeningAnswers } from "./opening-answers.ts";
import { closedTerminal, EndedTerminals, isShown, writeEnd } from "./terminal-ends.ts";
import { TerminalHolders } from "./terminal-holders.ts";
import { TerminalRetention } from "./terminal-retention.ts";
import type { TerminalEnd } from "./terminal-viewer.ts";
import { Tickets } from "./tickets.ts";
import { admitViewer } from "./viewer-admission.ts";
import { ViewerConnection } from "./viewer-connection.ts";
import { relayViewer } from "./viewer-relay.ts";

/** Terminals of which the last frames may still come. */
const rememberedEnds = 1_000;

interface Features {
  access: AccessService;
  agents: AgentService;
  streams: Streams;
}

export class TerminalService {
  readonly tickets: Tickets;
  /** Terminals wherever they are. */
  readonly holders: TerminalHolders;
  readonly #context: Context;
  readonly #features: Features;
  readonly #work: BackgroundWork;
  readonly #live = new Map<string, LiveTerminal>();
  readonly #ended = new Set<string>();
  readonly #kept: EndedTerminals;
  /** Terminals that are about to be opened. */
  #reserved = 0;
  readonly #answers: OpeningAnswers;
  readonly #left: LeftTerminals;

  constructor(context: Context, features: Features) {
    this.#context = context;
    this.#features = features;
    this.#work = new BackgroundWork(context);
    this.tickets = new Tickets(context);
    this.#kept = new EndedTerminals(context.clock);
    this.holders = new TerminalHolders(context, this);
    this.#answers = new OpeningAnswers(context.clock);
    this.#left = new LeftTerminals(context, {
      held: () => this.#live.size,
      isHeld: (sessionId) => this.#live.has(sessionId),
      gone: (holders) => this.holders.gone(holders),
    });
    context.feed.follow<TerminalDocument>("terminals", ({ key, document }) => {
      if (document?.value.status !== "active") this.#work.do(() => this.#endSettled(key));
    });
  }

  /** Has what processes left open that are gone settled, and follows who may do what. The function returned ends all. */
  async start(): Promise<() => Promise<void>> {
    const endLeft = await this.#left.start();
    const unlisten = this.#context.feed.listen((event) => {
      if (eventTable[event.event_type].category === "access") this.#work.do(() => this.#checkOpeners());
    });
    const endRetention = new TerminalRetention(this.#context).keep();
    return async () => {
      unlisten();
      await endRetention();
      await Promise.all([...this.#live.values()].map((terminal) => terminal.interrupt("server_lost")));
      this.#kept.clear();
      await this.#work.stop();
      await endLeft();
    };
  }

  /** How many are open here. */
  get size(): number {
    return this.#live.size;
  }

  find(sessionId: string): LiveTerminal | null {
    return this.#live.get(sessionId) ?? null;
  }

  /**
   * Finds one that is open here, or ended a moment ago.
   *
   * @throws {OrchestratorError} `INVALID_TRANSITION`.
   */
  require(sessionId: string): LiveTerminal {
    const terminal = this.#live.get(sessionId) ?? this.#kept.find(sessionId);
    if (!terminal) throw closedTerminal();
    return terminal;
  }

  /**
   * Opens a terminal on an agent and waits for its answer.
   *
   * @throws {OrchestratorError} `AGENT_OFFLINE`; `AGENT_TIMEOUT`; `FORBIDDEN` where who opens it was removed or got another role meanwhile;
   *   what the agent refuses it with.
   */
  async open(document: Readonly<TerminalDocument>): Promise<LiveTerminal> {
    const { session_id, node_id, cols, rows, shell, username } = document;
    const terminal = new LiveTerminal(document, {
      context: this.#context,
      keeps: (sessionId) => this.#left.keeps(sessionId),
      ended: (ended, end) => this.#end(ended, end),
    });
    this.#live.set(session_id, terminal);
    try {
      await this.#left.hold();
      // What changed since they were allowed to was told before this terminal could be found.
      if (!(await this.#isOpenersStill(terminal))) throw new OrchestratorError("FORBIDDEN");
      const id = this.#context.ids.next();
      const answered = this.#answers.wait(id, node_id);
      const not_after = toTimestamp(this.#context.fleetTime.now() + openMs);
      const opening = { session_id, cols, rows, operator: username, ...(shell !== undefined && { shell }) };
      const command = { type: "terminal.open", id, not_after, ...opening } as const;
      const failed = (error: unknown): void => this.#answers.failed(id, error);
      // The answer is waited for from the first: it may come, also that the agent is gone, while the command is sent.
      this.#context.transport.send(node_id, command).catch(failed);
      await answered;
      await terminal.begin();
      return terminal;
    } catch (error) {
      // It may have been opened all the same.
      await terminal.close("refused");
      await terminal.interrupt("refused");
      throw error;
    }
  }

  /**
   * Takes one of the places for terminals, for one that is about to be opened. The function returned gives it back.
   *
   * @throws {OrchestratorError} `TOO_MANY_TERMINALS`.
   */
  reserve(): () => void {
    // One that is being opened is held already, and has its reservation until it is open.
    const open = [...this.#live.values()].filter(({ isOpening }) => !isOpening).length;
    if (open + this.#reserved >= this.#context.options.terminalSessions)
      throw new OrchestratorError("TOO_MANY_TERMINALS");
    this.#reserved += 1;
    return () => void (this.#reserved -= 1);
  }

  /** An agent answered a command; false where it is no command of a terminal. */
  reply(nodeId: string, message: MessageOf<AgentMessage, "reply">): boolean {
    return this.#answers.reply(nodeId, message);
  }

  /**
   * An agent says something about a terminal.
   *
   * @throws {OrchestratorError} `PROTOCOL_ERROR` for one that it does not have.
   */
  async hear(
    nodeId: string,
    message: MessageOf<AgentMessage, "terminal.closed" | "terminal.taken">,
  ): Promise<void> {
    const terminal = this.#of(nodeId, message.session_id);
    if (message.type === "terminal.taken") terminal?.taken(message.through);
    else await terminal?.closed(message);
  }

  /** Output came. Errors as for {@link hear}, also for more than was granted. */
  stream(nodeId: string, sessionId: string, data: Uint8Array): void {
    this.#of(nodeId, sessionId)?.output(data);
  }

  /** The connection of an agent is gone, and its terminals with it. */
  async disconnected(nodeId: string): Promise<void> {
    this.#answers.gone(nodeId);
    const own = [...this.#live.values()].filter(({ document }) => document.node_id === nodeId);
    // An agent that is let go before a stop did not go by itself.
    const reason = this.#context.isDraining ? "server_lost" : "agent_lost";
    await Promise.all(own.map((terminal) => terminal.interrupt(reason)));
  }

  /** Takes over the socket of somebody who will say what they want to see. */
  accept(socket: FrameSocket, sessionId: string): void {
    admitViewer(socket, {
      clock: this.#context.clock,
      admit: ({ ticket, last_offset }) => this.#admit(socket, { ticket, sessionId, lastOffset: last_offset }),
    });
  }

  async #admit(
    socket: FrameSocket,
    { ticket, sessionId, lastOffset }: { ticket: string; sessionId: string; lastOffset: number | undefined },
  ): Promise<SocketHandlers> {
    const caller = await this.tickets.redeem(ticket, sessionId, (id, session) => this.#callerOf(id, session));
    const stored = await this.#context.storage.get<TerminalDocument>("terminals", sessionId);
    if (!stored || !isShown(stored.value, this.#context.clock.now())) throw closedTerminal();
    const types = isOpener(caller, stored.value);
    const stream = this.#features.streams.open(caller);
    const release = (): void => stream.close();
    try {
      if (!types) await this.#tellWatched(caller, stored.value);
      const viewing = { types, lastOffset, signal: stream.signal, release };
      const { holder } = stored.value;
      if (!this.holders.isOwn(stored.value))
        return await relayViewer(this.#context, socket, { ...viewing, holder, sessionId });
      const terminal = this.require(sessionId);
      return ViewerConnection.attach(socket, { ...viewing, terminal });
    } catch (error) {
      release();
      // Where it was held and ended there is no process any more.
      const isGone = isOrchestratorError(error) && error.code === "UNAVAILABLE";
      throw isGone && stored.value.status !== "active" ? closedTerminal() : error;
    }
  }

  async #tellWatched(caller: Caller, document: Readonly<TerminalDocument>): Promise<void> {
    const { session_id, node_id, operator_id, agent_name, username } = document;
    await this.#context.commit(caller, [], {
      type: "terminal.watched",
      target: { type: "terminal", id: session_id, name: agent_name },
      summary: `A terminal of ${username} on ${agent_name} is watched`,
      metadata: { session_id, node_id, operator_id },
    });
  }

  async #callerOf(operatorId: string, session: string | null): Promise<Caller | null> {
    if (session === null) return systemCaller;
    const operator = await this.#features.access.operators.find(operatorId);
    if (!operator) return null;
    const { operator_id, username, role } = operator.value;
    const caller = { kind: "operator", operator_id, username, role, session_id: session } as const;
    return (await this.#features.access.isSignedIn(caller)) ? caller : null;
  }

  /** A terminal ends with the operator who opened it, and with that one's role. */
  async #checkOpeners(): Promise<void> {
    for (const terminal of this.#live.values())
      if (!(await this.#isOpenersStill(terminal))) await terminal.close("operator_changed");
  }

  /** Whether who opened a terminal is there, in the role of then. */
  async #isOpenersStill({ document: { operator_id, opener_role } }: LiveTerminal): Promise<boolean> {
    if (opener_role === null) return true;
    const operator = await this.#features.access.operators.find(operator_id);
    return operator?.value.role === opener_role;
  }

  async #end(terminal: LiveTerminal, end: TerminalEnd): Promise<void> {
    const { session_id } = terminal.document;
    this.#remember(session_id);
    await this.writeEnd(terminal.document, end);
    this.#live.delete(session_id);
    // Else there is nothing to be missed.
    if (end.bytes > 0 || end.exitCode !== undefined) this.#kept.keep(terminal);
  }

  /** Writes how a terminal ended, now or as soon as it can be; never rejects. */
  async writeEnd(document: Readonly<TerminalDocument>, end: TerminalEnd): Promise<void> {
    const { session_id } = document;
    const write = (): Promise<void> => writeEnd(this.#context, document, end);
    await write().catch((error: unknown) => {
      this.#context.logger.error("The end of a terminal was not written.", { error, session_id });
      if (mayPass(error)) this.#work.do(write);
    });
  }

  /** Another process took this one for gone, and wrote the end of a terminal: nothing of it is shown, or recorded, any more. */
  async #endSettled(sessionId: string): Promise<void> {
    const terminal = this.#live.get(sessionId);
    await terminal?.close("server_lost");
    await terminal?.interrupt("server_lost");
  }

  #of(nodeId: string, sessionId: string): LiveTerminal | null {
    const terminal = this.#live.get(sessionId);
    if (terminal?.document.node_id === nodeId) return terminal;
    if (this.#ended.has(`${nodeId}/${sessionId}`)) return null;
    throw new OrchestratorError("PROTOCOL_ERROR", { message: "There is no such terminal." });
  }

  #remember(sessionId: string): void {
    const nodeId = this.#live.get(sessionId)?.document.node_id;
    if (nodeId !== undefined) this.#ended.add(`${nodeId}/${sessionId}`);
    const [oldest] = this.#ended;
    if (this.#ended.size > rememberedEnds && oldest !== undefined) this.#ended.delete(oldest);
  }
}

/** Whether a caller is the one who opened a terminal. */
export function isOpener(caller: Caller, { operator_id }: Pick<TerminalDocument, "operator_id">): boolean {
  return caller.kind === "operator" ? caller.operator_id === operator_id : operator_id === caller.kind;
}
