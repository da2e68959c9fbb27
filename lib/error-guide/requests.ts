/** Explains the errors of what callers send and who they are. */
import type { ErrorExplanation } from "./explanation.ts";

export const requestErrors = {
  VALIDATION_FAILED: {
    meaning: "The input does not fit its schema.",
    cause:
      "A field is missing, unknown, of the wrong type or out of range. Unknown fields are refused too: a misspelt option would otherwise be ignored.",
    advice: "Read `issues` (REST: `errors`): each names the field and what is wrong with it.",
  },
  MODULE_INVALID: {
    meaning: "The text of a module has faults.",
    cause:
      "It is not valid YAML, has unknown or duplicate keys, names a resource that is not there, or its resources depend on each other in a circle.",
    advice:
      "Every fault is in `issues` with its line and column. Correct them and upload again; nothing was stored.",
  },
  SELECTOR_INVALID: {
    meaning: "A selector can't be read.",
    cause: "It breaks the grammar, is empty, or is too long.",
    advice: "`issues` says at which column. To mean every agent, write `*`.",
  },
  CURSOR_INVALID: {
    meaning: "The cursor does not belong to this list.",
    cause: "It was made by another list, by other filters or another order, or it was altered.",
    advice: "Begin again without a cursor. Keep the filters the same from page to page.",
  },
  KEY_REFUSED: {
    meaning: "The public key is not acceptable.",
    cause:
      "It is not 32 bytes of Ed25519, not in canonical form, or a weak key (small order) for which anybody can make signatures.",
    advice: "Make a new key pair with a current tool and register that.",
  },
  PAYLOAD_TOO_LARGE: {
    meaning: "The request is larger than allowed.",
    cause:
      "A body may have 1 MiB, of a call that needs no session 16 KiB. It is refused as soon as it is longer, whatever length it announced.",
    advice: "Send less: a module may have 512 KiB; split what is larger.",
  },
  UNSUPPORTED_MEDIA_TYPE: {
    meaning: "The request body is not declared as JSON.",
    cause:
      "The `Content-Type` is missing or another one, as in a form that a browser posts, or its charset is not UTF-8.",
    advice: "Send `Content-Type: application/json`.",
  },
  METHOD_NOT_ALLOWED: {
    meaning: "The path exists and does not answer that method.",
    cause:
      "A wrong method, often a POST in place of a PUT. Over tRPC: a query that was sent as a mutation, or what only REST can answer, a stream of bytes.",
    advice: "The `Allow` header lists the methods of the path.",
  },
  URL_TOO_LONG: {
    meaning: "The address of the request is longer than allowed.",
    cause: "Path and query may have 8,192 bytes together.",
    advice: "Send what is long in a body: over tRPC as a POST, over REST where the route takes one.",
  },
  HEADERS_TOO_LARGE: {
    meaning: "The header fields of the request are larger than allowed.",
    cause: "All names and values together may have 16,384 bytes, in 200 fields.",
    advice:
      "Look for what makes them large: often cookies of other services on the same host name, which are not needed here.",
  },
  REQUEST_TIMEOUT: {
    meaning: "The request did not come to its end in time, and its connection was closed.",
    cause:
      "Its head took longer than 20 seconds or all of it longer than 60, or the connection was opened and nothing sent.",
    advice: "Send it again, with its `Idempotency-Key` where it had one.",
  },
  UPGRADE_REQUIRED: {
    meaning: "The path answers WebSockets, and the request is none.",
    cause:
      "A plain request to the path of agents or of terminals, or a proxy in between that takes the `Upgrade` header away.",
    advice: "Open a WebSocket there. Have the proxy pass `Upgrade` and `Connection` on.",
  },
  MISDIRECTED: {
    meaning: "The request names another server than its `Host`.",
    cause: "It was written as for a proxy (`GET http://other.example/...`) and came here.",
    advice: "Call the service by its own name, without a proxy that passes such requests on.",
  },
  UNAUTHENTICATED: {
    meaning: "The call needs a session and has none that is valid.",
    cause:
      "No token was sent, or the session was signed out, has expired, or ended because its operator was removed or got another role.",
    advice: "Sign in again and repeat the call with the new token.",
  },
  CHALLENGE_INVALID: {
    meaning: "The challenge is unknown, expired or used.",
    cause: "A challenge holds for a minute and for one attempt.",
    advice: "Ask for a new challenge, sign it and send the signature at once.",
  },
  SIGNATURE_INVALID: {
    meaning: "The signature does not fit the key and the text that was to be signed.",
    cause:
      "The wrong key signed, other text than `message` was signed, or the key is not that of an operator. The answer is the same in each case on purpose. Said by a client: the server did not prove the orchestrator's key that it names. Of a backup: it was not signed by the orchestrator's key that it names, or was changed since.",
    advice:
      "Sign exactly the bytes of `message`. If that was done, ask an Admin whether the key is registered. A server that does not prove its key is not the one that it says it is.",
  },
  FORBIDDEN: {
    meaning: "The caller is known, and the role does not allow the call.",
    cause: "A Viewer called something that changes the fleet, or an Operator something that is an Admin's.",
    advice: "Ask an Admin to make the call or to change the role. The refusal is in the audit log.",
  },
  ORIGIN_REFUSED: {
    meaning: "This host name or web page may not call.",
    cause:
      "The `Host` of the request is none of the allowed ones, a browser says that a page of another site sent it (`Origin`), or a sign-in is meant for an address that the service does not answer for: another server passed it on, or a proxy, a tunnel or a port that is forwarded stands in between.",
    advice:
      "Use an address of the service. To allow a host name, or an address that leads to the service in a roundabout way, add it to the allowed hosts (`FLEETWRIGHT_ALLOWED_HOSTS`); behind a proxy that changes `Host`, name the host that browsers see.",
  },
  RATE_LIMITED: {
    meaning: "There were too many requests in a short time, or there is too much of something already.",
    cause:
      "Sign-in attempts are limited per address (of IPv6: per /64) and operator's key, calls per session where `callsPerMinute` says so, idempotency keys per operator, streams that one session holds open (32), and unknown agents that wait to be approved (`pendingAgents`).",
    advice:
      "Wait as long as `Retry-After` says. Close streams that nobody reads. Approve or reject the agents that wait.",
  },
} as const satisfies Record<string, ErrorExplanation>;
