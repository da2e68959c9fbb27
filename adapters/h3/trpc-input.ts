/** Has tRPC read its inputs as strictly as REST does. */
import { OrchestratorError } from "fleetwright";
import { checkMediaType, parseStrictJson, toText } from "../http/json-body.ts";
import { toOrchestratorError } from "../trpc/error-map.ts";

/** Has the body of a request checked when tRPC reads it, which is when it knows that the caller may call. */
export function readStrictly(request: Request): Request {
  const text = async (): Promise<string> => {
    const bytes = new Uint8Array(await request.arrayBuffer());
    checkMediaType(request.headers.get("content-type") ?? undefined);
    const body = toText(bytes);
    const fault = body === "" ? null : faultOf(body);
    if (fault !== null) throw fault;
    return body;
  };
  return new Proxy(request, {
    get(target, name) {
      if (name === "text") return text;
      const value: unknown = Reflect.get(target, name, target);
      // The parts of a request belong to the request, not to what stands before it.
      return typeof value === "function" ? (value.bind(target) as unknown) : value;
    },
  });
}

/** What is wrong with a query that is read by some in one way and by others in another; null where nothing is. */
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
