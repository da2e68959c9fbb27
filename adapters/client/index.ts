/** A typed client of the REST surface. Runs in Node and in browsers. */
export { createClient } from "./client.ts";
export type { Client, ClientOptions } from "./client.ts";
export type { OperatorSigner } from "./signer.ts";
export type { SignedText } from "./verify.ts";
export { attachTerminal } from "./terminal.ts";
export type { AttachOptions, AttachedTerminal, TerminalMessage, TerminalSocket } from "./terminal.ts";
export { ApiError } from "./api-error.ts";
export type { ApiProblem, ProblemFault } from "./api-error.ts";
export type { RetryOptions } from "./retry.ts";
export type { CallOptions, Fetch, Query, RequestExtras } from "./http.ts";
export type {
  AssignmentChange,
  EventFilter,
  Input,
  NewAssignment,
  NewOperator,
  Output,
  PlanInput,
  RunInput,
  StatusChange,
  WaitInput,
} from "./inputs.ts";
export type { SessionInfo, UploadedModule, Verbs } from "./verbs.ts";
