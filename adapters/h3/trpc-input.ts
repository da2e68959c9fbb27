/** Reads the inputs of tRPC as strictly as REST does, before tRPC reads them its own way. */
import { OrchestratorError } from "fleetwright";
import { parseStrictJson } from "../rest/json-body.ts";
import { toOrchestratorError } from "../trpc/error-map.ts";

/** A request whose inputs tRPC may read, or what is wrong with them. */
export interface ReadRequest {
  request: Request;
  /** Thrown where tRPC answers with the form that its clients expect. */
  fault: OrchestratorError | null;
}

/** Reads the body, or the query where there is none. */
export async function readStrictly(request: Request): Promise<ReadRequest> {
  const { method, url, headers } = request;
  if (method !== "POST") return { request, fault: faultOfQuery(new URL(url).searchParams) };
  let text: string;
  try {
    text = await request.text();
  } catch (error) {
    const cause = toOrchestratorError(error);
    const fault = isTooLarge(error) ? new OrchestratorError("PAYLOAD_TOO_LARGE", { cause: error }) : cause;
    return { request: new Request(url, { method, headers, body: "{}" }), fault };
  }
  const again = new Request(url, { method, headers, body: text });
  // Without a body, and with one that is no JSON, it is tRPC that says so.
  const isJson = headers.get("content-type")?.startsWith("application/json") === true;
  return { request: again, fault: isJson && text !== "" ? faultOf(text) : null };
}

/** Whether a query is read by everybody in the same way. */
export function faultOfQuery(parameters: URLSearchParams): OrchestratorError | null {
  for (const name of ["input", "batch"])
    if (parameters.getAll(name).length > 1)
      return new OrchestratorError("VALIDATION_FAILED", { message: `The query has ${name} twice.` });
  const input = parameters.get("input") ?? "";
  return input === "" ? null : faultOf(input);
}

function faultOf(text: string): OrchestratorError | null {
  try {
    parseStrictJson(text);
    return null;
  } catch (error) {
    return isBroken(text) ? null : toOrchestratorError(error);
  }
}

/** Whether a text is no JSON at all, which is tRPC's to say. */
function isBroken(text: string): boolean {
  try {
    JSON.parse(text);
    return false;
  } catch {
    return true;
  }
}

function isTooLarge(error: unknown): boolean {
  return typeof error === "object" && error !== null && "status" in error && error.status === 413;
}
