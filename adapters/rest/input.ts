/** Puts the input of a procedure together from path, query and body. */
import { OrchestratorError } from "fleetwright";
import type { Issue } from "fleetwright";
import { checkMediaType, parseJsonBody } from "../http/json-body.ts";
import type { RestRequest } from "./message.ts";
import { parsePathParameter, parseQuery } from "./parameters.ts";
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
 * @throws {OrchestratorError} `VALIDATION_FAILED` where one does, or holds what the procedure does not take, with every other fault of the input.
 */
export function toInput({ route, values, query, body }: InputParts): unknown {
  const { input: fromQuery, faults } = parseQuery(query, route.query);
  const input = route.takesBody ? body : fromQuery;
  for (const [index, { name, plan }] of route.pathParameters.entries()) {
    if (Object.hasOwn(input, name)) faults.push({ path: [name], message: "The path says this already." });
    input[name] = parsePathParameter(values[index] ?? "", name, plan);
  }
  if (route.isWithoutInput)
    faults.push(...Object.keys(input).map((name) => ({ path: [name], message: "There is no such field." })));
  if (faults.length > 0) throw withFaultsOfSchema(route, input, faults);
  return route.isWithoutInput ? undefined : input;
}

/** The procedure never sees this input, so what its schema refuses is told here: else the caller would hear of it one call later. */
function withFaultsOfSchema(route: RestRoute, input: unknown, faults: readonly Issue[]): OrchestratorError {
  const told = new Set(faults.map(({ path }) => path[0]));
  const others = route.faultsOf(input).filter(({ path }) => !told.has(path[0]));
  return new OrchestratorError("VALIDATION_FAILED", { issues: [...faults, ...others] });
}
