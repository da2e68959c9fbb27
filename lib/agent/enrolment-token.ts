import { join } from "node:path";
import { z } from "zod";
import type { Crypto } from "../crypto/crypto.ts";
import { toHex, toUtf8 } from "../crypto/encoding.ts";
import type { Logger } from "../logger.ts";
import type { AgentStatus } from "../wire/handshake-messages.ts";
import { readText, replaceFile } from "./durable-file.ts";
import type { IdentityContext } from "./identity.ts";
import { seal, unseal } from "./sealed-text.ts";

const fileSchema = z.strictObject({
  version: z.literal(1),
  /** SHA-256 of the token, hex: a token that is given again with each start of the agent is known by it. */
  token_hash: z.string(),
});

/**
 * The enrolment token that an agent was given: it is brought with each connection until the agent is approved, and then no more, also
 * where a later start is given it again; unless the agent has to wait all the same, as with an orchestrator that was restored from an
 * older backup and knows nothing of the approval.
 *
 *   given ──connection: pending──▶ given, told once in the log
 *     ▲   └─connection: approved─▶ done with; its hash stays in the state folder
 *     └────────connection: pending─────┘
 */
export class EnrolmentToken {
  readonly #path: string;
  readonly #crypto: Crypto;
  readonly #logger: Logger;
  readonly #given: string | null;
  #token: string | null;
  #isTold = false;

  constructor({ stateDir, crypto, logger }: IdentityContext, given: string | undefined) {
    this.#path = join(stateDir, "enrolled.json");
    this.#crypto = crypto;
    this.#logger = logger;
    this.#given = given ?? null;
    this.#token = given === undefined || this.#isForgotten(given) ? null : given;
  }

  /** What to bring; null where there is nothing, or nothing any more. */
  get(): string | null {
    return this.#token;
  }

  /**
   * The orchestrator said how the agent stands; `wasSent`: on a connection that the token was sent over. True where the next
   * connection brings what this one did not.
   */
  answered(status: AgentStatus, wasSent: boolean): boolean {
    if (this.#token === null) {
      if (status === "pending") this.#token = this.#given;
      return this.#token !== null;
    }
    if (status === "approved") this.#forget(this.#token);
    else this.#tell(status, wasSent);
    return false;
  }

  #tell(status: AgentStatus, wasSent: boolean): void {
    if (this.#isTold) return;
    this.#isTold = true;
    const message = wasSent
      ? "The enrolment token did not count here; an operator has to decide about this agent."
      : "The orchestrator is of a version that takes no enrolment tokens; an operator has to approve this agent.";
    this.#logger.warn(message, { status });
  }

  #forget(token: string): void {
    this.#token = null;
    try {
      replaceFile(this.#path, `${seal({ version: 1, token_hash: this.#hash(token) })}\n`);
    } catch (error) {
      // Brought again after the next start it costs nothing: the agent is approved.
      this.#logger.warn("That the enrolment token is done with could not be written down.", { error });
    }
  }

  /** A damaged file says nothing: the token is then brought once more. */
  #isForgotten(token: string): boolean {
    const text = readText(this.#path);
    const file = text === null ? undefined : fileSchema.safeParse(unseal(text)?.value).data;
    return file?.token_hash === this.#hash(token);
  }

  #hash(token: string): string {
    return toHex(this.#crypto.sha256(toUtf8(token)));
  }
}
