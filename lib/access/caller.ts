import type { EventSubject } from "../events.ts";
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

/** The caller as the audit log names it. */
export function toSubject(caller: Caller): EventSubject {
  if (caller.kind === "operator") return { type: "operator", id: caller.operator_id, name: caller.username };
  return { type: caller.kind, id: caller.kind, name: caller.kind };
}
