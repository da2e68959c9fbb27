/** Holds the headers of answers against the OpenAPI description. */
import type { IncomingHttpHeaders } from "node:http";
import { createOpenApiDocument } from "../../adapters/rest/openapi.ts";
import { otherRefusal } from "../../adapters/rest/openapi/problems.ts";
import { appRouter } from "../../adapters/trpc/router.ts";

interface Described {
  $ref?: string;
  headers?: Record<string, object>;
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
export function undescribedHeaders({ method, path, status, headers }: AnsweredCall): string[] {
  const asked = method === "HEAD" ? "GET" : method;
  const found = operations.filter((each) => each.method === asked && each.pattern.test(path));
  const responses = (found.find(({ isLiteral }) => isLiteral) ?? found[0])?.responses;
  if (responses === undefined && status < 400) return [];
  const own: Described = responses?.[status] ?? responses?.["default"] ?? otherRefusal;
  const response = shared[own.$ref?.split("/").at(-1) ?? ""] ?? own;
  const named = new Set(Object.keys(response.headers ?? {}).map((name) => name.toLowerCase()));
  return Object.keys(headers).filter((name) => !named.has(name) && !ofConnection.has(name));
}
