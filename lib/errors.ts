import type { JsonObject } from "./json.ts";

/** One line of the table of error codes. */
interface ErrorDefinition {
  /** The sentence used when the thrower gives none. */
  message: string;
  /** Whether the same call may succeed later without the caller changing anything. */
  retryable: boolean;
}

/**
 * Every error code of the package, once. A code is public and stable; a message is not.
 * `errorGuide` explains each, and adapters map each to their own status (a code that is not mapped does not compile).
 */
export const errorTable = {
  // What the caller sent
  VALIDATION_FAILED: { message: "The input is not valid.", retryable: false },
  MODULE_INVALID: { message: "The module has faults.", retryable: false },
  SELECTOR_INVALID: { message: "The selector can't be read.", retryable: false },
  CURSOR_INVALID: { message: "The cursor does not belong to this list.", retryable: false },
  KEY_REFUSED: { message: "The public key is not acceptable.", retryable: false },
  PAYLOAD_TOO_LARGE: { message: "The request is larger than allowed.", retryable: false },
  UNSUPPORTED_MEDIA_TYPE: { message: "The request body must be JSON.", retryable: false },
  METHOD_NOT_ALLOWED: { message: "This path does not answer that method.", retryable: false },
  // Who the caller is
  UNAUTHENTICATED: { message: "Sign in first.", retryable: false },
  CHALLENGE_INVALID: { message: "The challenge is unknown, expired or used.", retryable: false },
  SIGNATURE_INVALID: { message: "The signature does not match.", retryable: false },
  FORBIDDEN: { message: "Your role does not allow this.", retryable: false },
  URL_TOO_LONG: { message: "The address of the request is too long.", retryable: false },
  HEADERS_TOO_LARGE: { message: "The header of the request is too large.", retryable: false },
  REQUEST_TIMEOUT: { message: "The request did not come to its end in time.", retryable: true },
  UPGRADE_REQUIRED: { message: "This path is for WebSockets only.", retryable: false },
  MISDIRECTED: { message: "The request is meant for another server.", retryable: false },
  ORIGIN_REFUSED: { message: "This host name or web page may not call.", retryable: false },
  RATE_LIMITED: { message: "Too many requests.", retryable: true },
  // What is there
  NOT_FOUND: { message: "There is no such thing.", retryable: false },
  ALREADY_EXISTS: { message: "One with this name or key exists.", retryable: false },
  REVISION_CONFLICT: { message: "It was changed by someone else in the meantime.", retryable: true },
  PRECONDITION_FAILED: { message: "It is not the version that If-Match names.", retryable: false },
  IDEMPOTENCY_KEY_REUSED: { message: "The idempotency key was used for another input.", retryable: false },
  IDEMPOTENCY_ANSWER_UNKNOWN: {
    message: "A call with this idempotency key was begun, and its answer is not known.",
    retryable: false,
  },
  COUNT_DIFFERS: { message: "It concerns another number of things than was expected.", retryable: false },
  IN_USE: { message: "It is still in use.", retryable: false },
  LAST_ADMIN: { message: "The last Admin can't be removed or demoted.", retryable: false },
  TICKET_INVALID: { message: "The ticket is unknown, expired or used.", retryable: false },
  TOO_MANY_TERMINALS: { message: "Too many terminals are open.", retryable: true },
  INVALID_TRANSITION: { message: "The present status does not allow this change.", retryable: false },
  NO_MATCH: { message: "The selector matches no agent.", retryable: false },
  NO_METRICS: {
    message: "The agent has measured nothing yet, or nothing that is still kept.",
    retryable: true,
  },
  NO_BASELINE: { message: "The agent has no successful apply to compare with.", retryable: false },
  RESOURCE_CONFLICT: { message: "Two modules describe the same thing differently.", retryable: false },
  MODULE_MISSING: { message: "A module requires another that the agent does not get.", retryable: false },
  PARAMS_INVALID: { message: "The params of an assignment do not fit its modules.", retryable: false },
  TEMPLATE_FAILED: { message: "A template can't be evaluated for this agent.", retryable: false },
  EMPTY_DESIRED_STATE: {
    message: "Nothing is desired any more, but something is applied.",
    retryable: false,
  },
  TOO_MANY_REMOVALS: { message: "The apply would remove more than it may.", retryable: false },
  SECRET_UNAVAILABLE: { message: "A secret can't be used for this agent.", retryable: false },
  SECRETS_KEY_MISSING: { message: "No key for secrets was given to the orchestrator.", retryable: false },
  SECRETS_KEY_WRONG: {
    message: "The key for secrets is not the one they are encrypted with.",
    retryable: false,
  },
  INSECURE_CONNECTION: {
    message: "A secret is not taken over plain HTTP from another machine.",
    retryable: false,
  },
  MAINTENANCE_WINDOW: { message: "A maintenance window keeps changes away.", retryable: false },
  PLAN_STALE: { message: "The plan no longer describes what an apply would do.", retryable: false },
  // Agents
  AGENT_NOT_APPROVED: { message: "The agent is not approved.", retryable: false },
  AGENT_UNSUPPORTED: { message: "A module does not support this agent.", retryable: false },
  AGENT_OFFLINE: { message: "The agent is not connected.", retryable: true },
  AGENT_TIMEOUT: { message: "The agent did not answer in time.", retryable: true },
  AGENT_ALREADY_CONNECTED: { message: "An agent with this key is connected already.", retryable: true },
  PROTOCOL_ERROR: { message: "The peer broke the agent protocol.", retryable: false },
  VERSION_UNSUPPORTED: { message: "No protocol version is spoken by both sides.", retryable: false },
  ORCHESTRATOR_KEY_CHANGED: { message: "The orchestrator's key is not the pinned one.", retryable: false },
  ORCHESTRATOR_SUPERSEDED: {
    message: "The agent follows a newer server that was restored from a backup of this one.",
    retryable: false,
  },
  COMMAND_UNSUPPORTED: { message: "The agent can't do this.", retryable: false },
  TERMINALS_REFUSED: { message: "The agent allows no terminals.", retryable: false },
  COMMANDS_REFUSED: { message: "The agent runs no commands.", retryable: false },
  TERMINALS_UNAVAILABLE: { message: "The agent can't open terminals.", retryable: false },
  COMMAND_EXPIRED: { message: "The command came after its time.", retryable: false },
  RESULT_GONE: { message: "The operation has ended; its result is gone.", retryable: false },
  PEER_ERROR: { message: "The peer reported an error this version does not know.", retryable: false },
  // On the machine
  NOT_CONVERGED: { message: "The resource still differs after it was applied.", retryable: false },
  HOST_ERROR: { message: "The machine refused.", retryable: false },
  PATH_OUTSIDE_ROOT: {
    message: "The path leaves the folder that the agent is confined to.",
    retryable: false,
  },
  DOWNLOAD_FAILED: { message: "What was to be downloaded could not be had.", retryable: true },
  OWN_SERVICE: { message: "The agent itself runs in this service.", retryable: false },
  ARCHIVE_TOO_LARGE: { message: "The archive holds more than may be extracted.", retryable: false },
  COMMAND_FAILED: { message: "The command ended with an error.", retryable: false },
  RESOURCE_TIMEOUT: { message: "The resource took longer than it may.", retryable: false },
  UNKNOWN_RESOURCE_TYPE: { message: "A type of resource is not known.", retryable: false },
  CANCELLED: { message: "It was cancelled.", retryable: false },
  // Storage
  STORAGE_FULL: { message: "There is no space to write.", retryable: true },
  STORAGE_FAILED: {
    message: "The storage can't be written any more; the process must be restarted.",
    retryable: false,
  },
  STORAGE_CLOSED: { message: "The storage is closed.", retryable: false },
  STORAGE_LOCKED: { message: "Another process uses the data folder.", retryable: false },
  STORAGE_CORRUPT: { message: "The stored data is damaged.", retryable: false },
  STORAGE_VERSION_UNSUPPORTED: {
    message: "The stored data was written by a newer version.",
    retryable: false,
  },
  BACKUP_UNSIGNED: { message: "The backup is not signed by any orchestrator.", retryable: false },
  // The process
  ADDRESS_IN_USE: { message: "The address is in use.", retryable: false },
  CONFIGURATION_INVALID: { message: "The configuration is not valid.", retryable: false },
  OPTIONS_INVALID: { message: "The options are not valid.", retryable: false },
  UNAVAILABLE: { message: "The service is stopping.", retryable: true },
  INTERNAL: { message: "Something went wrong inside.", retryable: false },
} as const satisfies Record<string, ErrorDefinition>;

/** A stable name of a kind of failure. */
export type ErrorCode = keyof typeof errorTable;

/** One fault in what a caller sent, with its place. */
export interface Issue {
  /** Keys and indexes from the top of the input to the faulty value. */
  path: (string | number)[];
  /** What is wrong there, for people. */
  message: string;
  /** Line in the uploaded text, from 1, where the input is a text. */
  line?: number;
  /** Column in the uploaded text, from 1, where the input is a text. */
  column?: number;
}

/** What may be said about an error beside its code. */
export interface ErrorOptions {
  /** A sentence for people in place of the table's. Never holds a secret, command output or file content. */
  message?: string;
  /** Facts for programs, safe to show to the caller. */
  details?: JsonObject;
  /** The faults, where the input was refused. */
  issues?: Issue[];
  /** What caused it; kept for the log, never shown to the caller. */
  cause?: unknown;
}

const brand = Symbol.for("fleetwright.error");

/** The one class of error that the package throws on purpose. Check it with {@link isOrchestratorError}. */
export class OrchestratorError extends Error {
  /** The stable name of the failure. */
  readonly code: ErrorCode;
  /** Facts for programs, safe to show to the caller. */
  readonly details: JsonObject;
  /** The faults of the input, where it was refused; else empty. */
  readonly issues: readonly Issue[];
  /** Whether the same call may succeed later without the caller changing anything. */
  readonly retryable: boolean;

  constructor(code: ErrorCode, options: ErrorOptions = {}) {
    super(
      options.message ?? errorTable[code].message,
      options.cause === undefined ? {} : { cause: options.cause },
    );
    this.name = "OrchestratorError";
    this.code = code;
    this.details = options.details ?? {};
    this.issues = options.issues ?? [];
    this.retryable = errorTable[code].retryable;
    Object.defineProperty(this, brand, { value: true });
  }
}

/**
 * Tells whether a value is an {@link OrchestratorError}, of one code if given. Works across two copies of the package,
 * where `instanceof` does not.
 */
export function isOrchestratorError(error: unknown, code?: ErrorCode): error is OrchestratorError {
  if (typeof error !== "object" || error === null || !(brand in error)) return false;
  return code === undefined || (error as object as OrchestratorError).code === code;
}

/** Whether what failed may work when it is tried again as it is. */
export function isRetryable(error: unknown): boolean {
  return isOrchestratorError(error) && error.retryable;
}
