/** What lets somebody attach to a terminal: a secret that works once, for 30 seconds, and with the session of its operator. */
import type { Caller } from "../callers/caller.ts";
import type { Context } from "../context.ts";
import { fromHex, toHex } from "../crypto/encoding.ts";
import { isOrchestratorError, OrchestratorError } from "../errors.ts";
import type { Write } from "../storage/storage.ts";
import type { TicketDocument } from "./documents.ts";
import type { TerminalTicket } from "./schemas.ts";

const ticketMs = 30_000;
const collection = "terminal_tickets";

/** Finds the caller of a ticket; null where that session has ended. */
type FindCaller = (operatorId: string, session: string | null) => Promise<Caller | null>;

export class Tickets {
  readonly #context: Context;

  constructor(context: Context) {
    this.#context = context;
  }

  /** Makes a ticket: what the operator gets, and what is to be written for it. */
  issue(caller: Caller, sessionId: string): { ticket: TerminalTicket; write: Write } {
    const secret = this.#context.crypto.randomBytes(32);
    const value: TicketDocument = {
      session_id: sessionId,
      operator_id: caller.kind === "operator" ? caller.operator_id : caller.kind,
      operator_session: caller.kind === "operator" ? caller.session_id : null,
      expires_at: this.#context.fleetTime.now() + ticketMs,
    };
    return {
      ticket: {
        websocket_url: `/api/v1/terminal/session/${sessionId}/attach`,
        ticket: toHex(secret),
      },
      write: { kind: "put", collection, key: this.#keyOf(secret), value: { ...value }, expected: 0 },
    };
  }

  /**
   * Uses a ticket up.
   *
   * @throws {OrchestratorError} `TICKET_INVALID`.
   */
  async redeem(text: string, sessionId: string, findCaller: FindCaller): Promise<Caller> {
    const { storage, fleetTime } = this.#context;
    const secret = fromHex(text);
    const stored = secret && (await storage.get<TicketDocument>(collection, this.#keyOf(secret)));
    if (!stored) throw new OrchestratorError("TICKET_INVALID");
    const { key, revision, value } = stored;
    try {
      await storage.commit([{ kind: "delete", collection, key, expected: revision }], { reserve: true });
    } catch (error) {
      if (isOrchestratorError(error, "REVISION_CONFLICT")) throw new OrchestratorError("TICKET_INVALID");
      throw error;
    }
    const isGood = value.session_id === sessionId && value.expires_at > fleetTime.now();
    const caller = isGood ? await findCaller(value.operator_id, value.operator_session) : null;
    if (!caller) throw new OrchestratorError("TICKET_INVALID");
    return caller;
  }

  /** Removes tickets that nobody used in time. */
  async expired(): Promise<Write[]> {
    const query = { index: "by_expiry", from: 0, to: this.#context.fleetTime.now(), limit: 100 };
    const { items } = await this.#context.storage.list(collection, query);
    return items.map(({ key }): Write => ({ kind: "delete", collection, key }));
  }

  #keyOf(secret: Uint8Array): string {
    return toHex(this.#context.crypto.sha256(secret));
  }
}
