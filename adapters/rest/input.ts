/** Puts the input of a procedure together from path, query and body. */
import { OrchestratorError } from "fleetwright";
import { checkMediaType, parseJsonBody } from "../http/json-body.ts";
import type { RestRequest } from "./message.ts";
import { invalid, parsePathParameter, parseQuery } from "./parameters.ts";
import type { RestRoute } from "./routes.ts";

/**
 * Reads a body, if there is one; an absent or empty one is an empty object.
 *
 * @throws {OrchestratorError} `VALIDATION_FAILED`, `UNSUPPORTED_MEDIA_TYPE` or `PAYLOAD_TOO_LARGE`.
 */
export async function readJsonBody(
  request: RestRequest,
  route: RestRoute,
  limitBytes: number,
): Promise<Record<string, unknown>> {
  const bytes = await request.readBody(limitBytes);
  if (bytes.byteLength === 0) return {};
  if (!route.takesBody) {
    throw new OrchestratorError("VALIDATION_FAILED", { message: `${route.method} takes no body.` });
  }
  checkMediaType(request.header("content-type"));
  return parseJsonBody(bytes);
}

/** Where an input comes from. */
export interface InputParts {
  route: RestRoute;
  /** The path's parameters, percent-encoded. */
  values: readonly string[];
  query: string;
  body: Record<string, unknown>;
}

/**
 * Puts the input together; none of the parts may speak for another.
 *
 * @throws {OrchestratorError} `VALIDATION_FAILED` where one does, or holds what the procedure does not take.
 */
export function toInput({ route, values, query, body }: InputParts): unknown {
  const fromQuery = parseQuery(query, route.query);
  const input = route.takesBody ? body : fromQuery;
  let index = 0;
  for (const { name, plan } of route.pathParameters) {
    if (Object.hasOwn(input, name)) throw invalid(name, "The path says this already.");
    input[name] = parsePathParameter(values[index] ?? "", name, plan);
    index += 1;
  }
  if (!route.isWithoutInput) return input;
  const [unknownField] = Object.keys(input);
  if (unknownField !== undefined) throw invalid(unknownField, "There is no such field.");
  return undefined;
}
