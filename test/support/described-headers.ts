/** Holds the headers of answers, and their media types, against the OpenAPI description. */
import type { IncomingHttpHeaders } from "node:http";
import { createOpenApiDocument } from "../../adapters/rest/openapi.ts";
import { otherRefusal } from "../../adapters/rest/openapi/problems.ts";
import { appRouter } from "../../adapters/trpc/router.ts";

interface Described {
  $ref?: string;
  headers?: Record<string, object>;
  content?: Record<string, object>;
}

const { paths = {}, components } = await createOpenApiDocument(appRouter);
const shared = (components?.responses ?? {}) as Record<string, Described>;
const operations = Object.entries(paths).flatMap(([path, methods]) =>
  Object.entries(methods as Record<string, { responses: Record<string, Described> }>).map(
    ([method, { responses }]) => ({
      method: method.toUpperCase(),
      pattern: new RegExp(`^${path.replaceAll(/\{\w+\}/g, "[^/]+")}(?:\\?|$)`),
      isLiteral: !path.includes("{"),
      responses,
    }),
  ),
);

/** Headers that belong to the connection and the body, which OpenAPI says in other words or leaves to HTTP. */
const ofConnection = new Set([
  "connection",
  "content-length",
  "content-type",
  "date",
  "keep-alive",
  "transfer-encoding",
]);

/** An answer, and what it answers. */
export interface AnsweredCall {
  method: string;
  /** Below `/api/v1`. */
  path: string;
  status: number;
  headers: IncomingHttpHeaders;
}

/**
 * The headers of an answer that its description does not name. A refusal by no operation is held against the refusals of all, and what
 * is no refusal, such as the description itself, against nothing.
 */
export function undescribedHeaders(answered: AnsweredCall): string[] {
  const response = describedResponse(answered);
  if (response === null) return [];
  const named = new Set(Object.keys(response.headers ?? {}).map((name) => name.toLowerCase()));
  return Object.keys(answered.headers).filter((name) => !named.has(name) && !ofConnection.has(name));
}

/** The media type of an answer that its description does not name; null where it names it. */
export function undescribedMediaType(answered: AnsweredCall): string | null {
  const response = describedResponse(answered);
  const type = answered.headers["content-type"];
  if (response === null || type === undefined) return null;
  const isNamed = Object.keys(response.content ?? {}).some(
    (name) => type === name || type.startsWith(`${name};`),
  );
  return isNamed ? null : type;
}

function describedResponse({ method, path, status }: AnsweredCall): Described | null {
  const asked = method === "HEAD" ? "GET" : method;
  const found = operations.filter((each) => each.method === asked && each.pattern.test(path));
  const responses = (found.find(({ isLiteral }) => isLiteral) ?? found[0])?.responses;
  if (responses === undefined && status < 400) return null;
  const own: Described = responses?.[status] ?? responses?.["default"] ?? otherRefusal;
  return shared[own.$ref?.split("/").at(-1) ?? ""] ?? own;
}
