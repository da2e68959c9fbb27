/** The refusals of the OpenAPI description: which codes a procedure can be refused with, by status, and what each looks like. */
import { isDeepStrictEqual } from "node:util";
import type { AnyProcedure } from "@trpc/server";
import { errorGuide, permissionTable } from "fleetwright";
import type { ErrorCode, Permission } from "fleetwright";
import { exampleProblem, problemMediaType } from "../../http/problem.ts";
import { httpStatusOf } from "../../http/status.ts";
import { isProtected } from "../../trpc/trpc.ts";
import type { ProcedureMeta } from "../../trpc/trpc.ts";
import { inputFields } from "../parameters.ts";
import { commonHeaders } from "./headers.ts";

/** The schema of every refusal. */
export const problemSchema = {
  type: "object",
  description: "Why a request was refused (RFC 9457).",
  required: ["type", "title", "status", "detail", "code", "request_id"],
  properties: {
    type: {
      type: "string",
      format: "uri-reference",
      description: "Path of the page that explains the code.",
    },
    title: { type: "string" },
    status: { type: "integer" },
    detail: { type: "string" },
    code: { type: "string", pattern: "^[A-Z][A-Z0-9_]*$", description: "Stable: programs decide by this." },
    request_id: { type: "string" },
    errors: {
      type: "array",
      description: "The faults of the input.",
      items: {
        type: "object",
        required: ["pointer", "message"],
        properties: {
          pointer: { type: "string", description: "JSON Pointer (RFC 6901) into the input." },
          message: { type: "string" },
          line: { type: "integer", minimum: 1 },
          column: { type: "integer", minimum: 1 },
        },
      },
    },
    details: { type: "object", description: "Facts for programs.", additionalProperties: true },
  },
};

const retryAfter = {
  "Retry-After": {
    description: "Seconds after which the same request may be sent again.",
    schema: { type: "integer", minimum: 1 },
  },
} as const;

const allow = {
  Allow: { description: "With 405: the methods that the path has.", schema: { type: "string" } },
} as const;

/** Headers that come with a status. */
const headersOf: Partial<Record<number, object>> = {
  401: {
    "WWW-Authenticate": {
      description: "How to sign in, and whether a token was sent that is none or over.",
      schema: { type: "string", enum: ["Bearer", 'Bearer error="invalid_token"'] },
    },
  },
  429: retryAfter,
  503: retryAfter,
};

/** A code that this description does not know can still come: from a newer server, or from something in between. */
export const otherRefusal = {
  description: "Any other refusal; `code` says why.",
  headers: { ...allow, ...retryAfter, ...commonHeaders },
  content: { [problemMediaType]: { schema: { $ref: "#/components/schemas/Problem" } } },
} as const;

const bodyMethods = new Set(["POST", "PUT", "PATCH"]);

/** What every call may meet, whatever it asks for. */
const always: readonly ErrorCode[] = [
  "VALIDATION_FAILED",
  "ORIGIN_REFUSED",
  "INTERNAL",
  "UNAVAILABLE",
  "STORAGE_FAILED",
];

/** Codes that follow from one field of the input. */
const codesOfField: Readonly<Record<string, ErrorCode>> = {
  cursor: "CURSOR_INVALID",
  selector: "SELECTOR_INVALID",
};

/** Every code that a procedure may be refused with. */
export function codesOf(name: string, procedure: AnyProcedure): ReadonlySet<ErrorCode> {
  const { openapi, rest } = procedure._def.meta as Required<ProcedureMeta>;
  const fields = [...inputFields(procedure).keys()];
  const takesBody = bodyMethods.has(openapi.method);
  const codes = new Set<ErrorCode>([...always, ...(rest?.problems ?? [])]);
  const add = (condition: boolean, ...more: ErrorCode[]): void => {
    if (condition) for (const code of more) codes.add(code);
  };
  const needsSession = isProtected({ openapi });
  add(needsSession, "UNAUTHENTICATED", "RATE_LIMITED");
  add(needsSession && openapi.method !== "GET", "IDEMPOTENCY_KEY_REUSED", "IDEMPOTENCY_ANSWER_UNKNOWN");
  const role: string = (permissionTable as Record<string, string>)[name as Permission] ?? "anyone";
  add(role === "Operator" || role === "Admin", "FORBIDDEN");
  add(takesBody, "PAYLOAD_TOO_LARGE", "UNSUPPORTED_MEDIA_TYPE");
  add(procedure._def.type === "mutation", "STORAGE_FULL");
  add(openapi.method !== "GET", "PRECONDITION_FAILED");
  add(rest?.conditional === true, "REVISION_CONFLICT");
  add(openapi.path.includes("{"), "NOT_FOUND");
  for (const field of fields) {
    const code = codesOfField[field];
    if (code !== undefined) codes.add(code);
  }
  return codes;
}

/** The components that refusals refer to, by name. */
export type RefusalComponents = Record<string, object>;

/**
 * The responses of a procedure's codes by status, each a reference to a component, which is made at its first use: those of one
 * code are named after it, others after the procedure.
 */
export function describeRefusals(
  name: string,
  codes: ReadonlySet<ErrorCode>,
  components: RefusalComponents,
): Record<string, object> {
  const byStatus = new Map<number, ErrorCode[]>();
  for (const code of [...codes].sort()) {
    const status = httpStatusOf[code];
    byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
  }
  const responses: Record<string, object> = {};
  for (const [status, present] of [...byStatus].sort(([a], [b]) => a - b)) {
    const response = toResponse(status, present);
    const same = Object.keys(components).find((each) => isDeepStrictEqual(components[each], response));
    const own = present.length === 1 ? present[0] : `${name}_${status}`;
    const component = same ?? toPascalCase(own ?? name);
    components[component] = response;
    responses[status] = { $ref: `#/components/responses/${component}` };
  }
  return responses;
}

function toResponse(status: number, codes: readonly ErrorCode[]): object {
  const problems = codes.map(exampleProblem);
  const narrowed = {
    type: "object",
    properties: {
      status: { type: "integer", const: status },
      code: { type: "string", enum: codes },
    },
  };
  return {
    description: codes.map((code) => `\`${code}\`: ${errorGuide[code].meaning}`).join("\n\n"),
    headers: { ...headersOf[status], ...commonHeaders },
    content: {
      [problemMediaType]: {
        schema: { allOf: [{ $ref: "#/components/schemas/Problem" }, narrowed] },
        examples: Object.fromEntries(problems.map((value) => [value.code, { summary: value.title, value }])),
      },
    },
  };
}

/** `NOT_FOUND` -> `NotFound`; `state.applyNow_409` -> `StateApplyNow409`. */
function toPascalCase(name: string): string {
  const words = name === name.toUpperCase() ? name.toLowerCase() : name;
  return words.replaceAll(/(?:^|[._])(\w)/g, (_, letter: string) => letter.toUpperCase());
}
