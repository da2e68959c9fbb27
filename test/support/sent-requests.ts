/** What commands ask a server for, and answers that are not as it gives them. */
import { onTestFinished } from "vitest";

/** A request as it was sent. */
export interface SentRequest {
  /** Method and path below `/api/v1`, e.g. `POST /windows`. */
  to: string;
  /** Of the query, texts, a list where a name stands there more than once; of the body what it says. */
  input: unknown;
}

/** What is done with the requests of this process. */
interface Between {
  /** Of a read, which reaches the server: what is made of its answer. Default nothing. */
  read?: (answer: unknown) => unknown;
  /** Of what would change something, which does not reach it. */
  write: () => Response;
}

/** Writes down every request of this process from now on, until the test has ended. */
export function recordRequests({ read, write }: Between): SentRequest[] {
  return recordAnswers(async ({ to }, send) => {
    if (!to.startsWith("GET ")) return write();
    const response = await send();
    return read && response.ok ? Response.json(read(await response.json())) : response;
  });
}

/** The same, with an answer to each; `send` has the server give it. */
export function recordAnswers(
  answer: (request: SentRequest, send: () => Promise<Response>) => Response | Promise<Response>,
): SentRequest[] {
  const sent: SentRequest[] = [];
  const { fetch } = globalThis;
  globalThis.fetch = async (target, init) => {
    const { pathname, searchParams } = new URL(String(target));
    const { method = "GET", body } = init ?? {};
    const isQuery = method === "GET" || typeof body !== "string";
    const input = isQuery ? toInput(searchParams) : (JSON.parse(body) as unknown);
    const request = { to: `${method} ${pathname.replace("/api/v1", "")}`, input };
    sent.push(request);
    return answer(request, () => fetch(target, init));
  };
  onTestFinished(() => void (globalThis.fetch = fetch));
  return sent;
}

/** Refuses everything. */
export function refuseWrite(): Response {
  const problem = {
    type: "about:blank",
    title: "Refused",
    status: 409,
    detail: "Refused.",
    code: "CONFLICT",
  };
  return Response.json(problem, { status: problem.status });
}

function toInput(query: URLSearchParams): Record<string, unknown> {
  const names = [...new Set(query.keys())];
  return Object.fromEntries(
    names.map((name) => {
      const values = query.getAll(name);
      return [name, values.length === 1 ? values[0] : values];
    }),
  );
}
