import type { EventSubject } from "../events.ts";
import type { Write } from "../storage/storage.ts";
import type { Role } from "./roles.ts";

/** Where a call came from, for the audit log. */
export interface CallOrigin {
  request_id?: string;
  source_address?: string;
}

/** A signed-in operator. */
export interface OperatorCaller {
  kind: "operator";
  operator_id: string;
  username: string;
  role: Role;
  /** SHA-256 of the session token, hex. */
  session_id: string;
  origin?: CallOrigin;
  /** Of a call with an idempotency key: what its first commit takes along. @internal */
  claim?: CallClaim;
}

/** The claim of a call with an idempotency key, from where its effect is written. */
export interface CallClaim {
  /** Says what the call is answered with, before it commits; nothing for one that returns nothing. */
  tell(answer?: unknown): void;
  /** Says that the answer is a secret, before the call commits: it is kept nowhere. */
  conceal(): void;
  /** What the next commit is to write beside its own; null where one has it already. */
  ride(): Write | null;
  /** That commit is on disk. */
  landed(revision: number): void;
  /** That commit was refused. Returns what to throw. */
  missed(error: unknown): unknown;
}

/** Somebody who has not signed in. */
export interface AnonymousCaller {
  kind: "anonymous";
  origin?: CallOrigin;
}

/** The process that embeds the orchestrator; may do everything. */
export interface SystemCaller {
  kind: "system";
  origin?: CallOrigin;
}

/** Who calls. It is made from a session token by {@link Access.authenticate}, never from a request body. */
export type Caller = OperatorCaller | AnonymousCaller | SystemCaller;

/** The process itself: for programs that embed the orchestrator and decide by themselves who may do what. */
export const systemCaller: SystemCaller = { kind: "system" };

/**
 * The same caller, whose call is answered so once its next commit is on disk: for a call that is one commit, which is then repeated
 * with its idempotency key without a doubt. Without `answer` it returns nothing.
 */
export function answering<C extends Caller>(caller: C, answer?: unknown): C {
  if (caller.kind === "operator") caller.claim?.tell(answer);
  return caller;
}

/** The same caller, whose call is answered with a secret: once, as it is kept nowhere. With its idempotency key it is not made again. */
export function answeringOnce<C extends Caller>(caller: C): C {
  if (caller.kind === "operator") caller.claim?.conceal();
  return caller;
}

/** The same caller for a call that may as well be made again: none of its commits claims its idempotency key. */
export function repeatable(caller: Caller): Caller {
  if (caller.kind !== "operator" || caller.claim === undefined) return caller;
  const { claim: _, ...unclaimed } = caller;
  return unclaimed;
}

/** The caller as the audit log names it. */
export function toSubject(caller: Caller): EventSubject {
  if (caller.kind === "operator") return { type: "operator", id: caller.operator_id, name: caller.username };
  return { type: caller.kind, id: caller.kind, name: caller.kind };
}
