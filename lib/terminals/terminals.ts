import type { z } from "zod";
import type { AgentService } from "../agents/agent-service.ts";
import type { Caller } from "../callers/caller.ts";
import type { Permission } from "../callers/permissions.ts";
import { isAtLeast } from "../callers/roles.ts";
import type { Context } from "../context.ts";
import { OrchestratorError } from "../errors.ts";
import type { EventSubject } from "../events.ts";
import type { Page } from "../internal/common-schemas.ts";
import { parseInput } from "../internal/parse-input.ts";
import { toJsonObject } from "../json.ts";
import type { FrameSocket } from "../transport/socket.ts";
import type { TerminalDocument } from "./documents.ts";
import { Readings } from "./readings.ts";
import {
  listTerminalsInput,
  openTerminalInput,
  terminalIdInput,
  transcriptInput,
  type OpenedTerminal,
  type Terminal,
  type TerminalTicket,
} from "./schemas.ts";
import { closedTerminal, isShown } from "./terminal-ends.ts";
import { listTerminals, toTerminal } from "./terminal-list.ts";
import { isOpener, type TerminalService } from "./terminal-service.ts";
import { readTranscript } from "./transcript.ts";

/** Terminals on machines, each of them recorded. */
export class Terminals {
  readonly #context: Context;
  readonly #service: TerminalService;
  readonly #agents: AgentService;
  readonly #readings: Readings;

  constructor(context: Context, service: TerminalService, { agents }: { agents: AgentService }) {
    this.#context = context;
    this.#service = service;
    this.#agents = agents;
    this.#readings = new Readings(context);
  }

  /** Lists terminals, newest first. */
  async list(caller: Caller, input: z.input<typeof listTerminalsInput> = {}): Promise<Page<Terminal>> {
    await this.#context.authorize(caller, "terminals.list");
    const { items, next_cursor } = await listTerminals(this.#context, parseInput(listTerminalsInput, input));
    return { items: await this.#shown(items), next_cursor };
  }

  /**
   * Reads one terminal.
   *
   * @throws {OrchestratorError} `NOT_FOUND`.
   */
  async get(caller: Caller, input: z.input<typeof terminalIdInput>): Promise<Terminal> {
    await this.#context.authorize(caller, "terminals.get");
    const [terminal] = await this.#shown([await this.#read(parseInput(terminalIdInput, input).session_id)]);
    return terminal!;
  }

  /**
   * Opens a terminal on an agent's machine, with a ticket to attach to it.
   *
   * @throws {OrchestratorError} `NOT_FOUND`; `AGENT_NOT_APPROVED`; `AGENT_OFFLINE`; `AGENT_TIMEOUT`; `TERMINALS_REFUSED` where the agent
   * allows none; `TERMINALS_UNAVAILABLE` where it can't; `TOO_MANY_TERMINALS`; `HOST_ERROR` for a shell that is not there; `COMMAND_EXPIRED`
   * where the agent took it for too old; `COMMAND_UNSUPPORTED` where it knows no terminals; `PEER_ERROR` for any other refusal of it.
   */
  async open(caller: Caller, input: z.input<typeof openTerminalInput>): Promise<OpenedTerminal> {
    await this.#context.authorize(caller, "terminals.open");
    const { node_id, cols = 80, rows = 24, shell, reason } = parseInput(openTerminalInput, input);
    const agent = await this.#agents.requireApproved(node_id);
    const { ids } = this.#context;
    const isOperator = caller.kind === "operator";
    const document: TerminalDocument = {
      session_id: ids.next(),
      node_id,
      agent_name: agent.name ?? agent.hostname,
      operator_id: isOperator ? caller.operator_id : caller.kind,
      username: isOperator ? caller.username : caller.kind,
      opener_role: isOperator ? caller.role : null,
      status: "active",
      ...(reason !== undefined && { reason }),
      cols,
      rows,
      ...(shell !== undefined && { shell }),
      opened_at: this.#context.timestamp(),
      recording: "recording",
      bytes: 0,
      holder: this.#service.holders.holderOf(node_id),
    };
    const release = this.#service.reserve();
    try {
      return await this.#begin(caller, document);
    } finally {
      release();
    }
  }

  /** It is on disk, with who opened it, before anything is opened. */
  async #begin(caller: Caller, document: TerminalDocument): Promise<OpenedTerminal> {
    const { session_id, node_id, operator_id, username, agent_name, reason } = document;
    const { ticket, write } = this.#service.tickets.issue(caller, session_id);
    const answer = { ...toTerminal(document), ...ticket };
    const put = { kind: "put", collection: "terminals", key: session_id, expected: 0 } as const;
    const expired = await this.#service.tickets.expired();
    await this.#context.commit(caller, [{ ...put, value: toJsonObject(document) }, write, ...expired], {
      type: "terminal.opened",
      target: { type: "terminal", id: session_id, name: agent_name },
      summary: `${username} opened a terminal on ${agent_name}`,
      metadata: { session_id, node_id, operator_id, ...(reason !== undefined && { reason }) },
    });
    await this.#service.holders.open(document);
    return answer;
  }

  /**
   * Makes another ticket: for the one who opened it to attach again, or for an Admin to watch.
   *
   * @throws {OrchestratorError} `NOT_FOUND`; `FORBIDDEN` for somebody else's; `INVALID_TRANSITION` where it was closed on purpose, or ended a minute ago or earlier.
   */
  async ticket(caller: Caller, input: z.input<typeof terminalIdInput>): Promise<TerminalTicket> {
    await this.#context.authorize(caller, "terminals.ticket");
    const terminal = await this.#readOwn(
      caller,
      "terminals.ticket",
      parseInput(terminalIdInput, input).session_id,
    );
    if (!isShown(terminal, this.#context.clock.now())) throw closedTerminal();
    if (terminal.status !== "active" && this.#service.holders.isOwn(terminal))
      this.#service.require(terminal.session_id);
    const { ticket, write } = this.#service.tickets.issue(caller, terminal.session_id);
    await this.#context.storage.commit([write, ...(await this.#service.tickets.expired())]);
    return ticket;
  }

  /**
   * Closes a terminal: its program and all that it started are ended. Nothing happens where it has ended. Resolves when its end is written,
   * at most 10 seconds later where the agent does not answer.
   *
   * @throws {OrchestratorError} `NOT_FOUND`; `FORBIDDEN` for somebody else's, unless the caller is Admin.
   */
  async close(caller: Caller, input: z.input<typeof terminalIdInput>): Promise<void> {
    await this.#context.authorize(caller, "terminals.close");
    const terminal = await this.#readOwn(
      caller,
      "terminals.close",
      parseInput(terminalIdInput, input).session_id,
    );
    if (terminal.status !== "active") return;
    const { session_id, node_id, operator_id, agent_name, username } = terminal;
    // Who wants it: that it is closed is told by whoever holds it. With the reserve, as its end is.
    await this.#context.commitWithReserve(caller, [], {
      type: "terminal.closeRequested",
      target: toTarget(terminal),
      summary: `The terminal of ${username} on ${agent_name} is to be closed`,
      metadata: { session_id, node_id, operator_id },
    });
    await this.#service.holders.close(terminal);
  }

  /**
   * Reads what a terminal showed, also while it is active: up to where it is then. Who reads it is in the audit log before this resolves.
   *
   * @throws {OrchestratorError} `NOT_FOUND`, also where nothing was recorded; `FORBIDDEN` for somebody else's, unless the caller is Admin;
   * `STORAGE_CORRUPT` where it is not what was recorded; `STORAGE_FULL` where the audit log can't tell of it.
   */
  async transcript(
    caller: Caller,
    input: z.input<typeof transcriptInput>,
  ): Promise<AsyncIterable<Uint8Array>> {
    await this.#context.authorize(caller, "terminals.transcript");
    const { session_id, ...form } = parseInput(transcriptInput, input);
    const terminal = await this.#readOwn(caller, "terminals.transcript", session_id);
    const pieces = await readTranscript(this.#context, terminal, form);
    const what = form.search === undefined ? (form.format ?? "asciicast") : "search";
    await this.#readings.tell(caller, terminal, what);
    return pieces;
  }

  /**
   * Takes over the socket of somebody who attaches, for servers: the first message brings the ticket.
   *
   * @param sessionId - As the path of the socket names it.
   */
  accept(socket: FrameSocket, sessionId: string): void {
    this.#service.accept(socket, sessionId);
  }

  /** With what changes all the time. */
  async #shown(documents: readonly Readonly<TerminalDocument>[]): Promise<Terminal[]> {
    const figures = await this.#service.holders.figures(documents);
    return documents.map((document) => toTerminal(document, figures.get(document.session_id)));
  }

  async #readOwn(
    caller: Caller,
    permission: Permission,
    sessionId: string,
  ): Promise<Readonly<TerminalDocument>> {
    const terminal = await this.#read(sessionId);
    const mayAll =
      caller.kind === "system" || (caller.kind === "operator" && isAtLeast(caller.role, "Admin"));
    if (mayAll || isOpener(caller, terminal)) return terminal;
    return this.#context.refuse(caller, { permission, needed: "Admin", target: toTarget(terminal) });
  }

  async #read(sessionId: string): Promise<Readonly<TerminalDocument>> {
    const stored = await this.#context.storage.get<TerminalDocument>("terminals", sessionId);
    if (!stored) throw new OrchestratorError("NOT_FOUND", { message: `There is no terminal ${sessionId}.` });
    return stored.value;
  }
}

function toTarget({ session_id, agent_name }: Readonly<TerminalDocument>): EventSubject {
  return { type: "terminal", id: session_id, name: agent_name };
}
