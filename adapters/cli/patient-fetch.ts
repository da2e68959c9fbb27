/** Requests that a server takes long to answer. */
import { ApiError } from "../client/api-error.ts";
import type { Fetch } from "../client/http.ts";

/** Whoever waits wonders from then on. */
const silenceMs = 10_000;

/**
 * A `fetch` that says, once until there is an answer, that a server gives none: one that takes connections and hangs is waited for as long
 * as one that works. What it was asked to wait with its answer is not counted.
 */
export function patientFetch(tell: (error: ApiError) => void): Fetch {
  let isTold = false;
  return async (target, init) => {
    const timer = setTimeout(
      () => {
        if (!isTold) tell(noAnswer(target));
        isTold = true;
      },
      silenceMs + 1_000 * waitAskedFor(target, init),
    );
    try {
      const answer = await fetch(target, init);
      isTold = false;
      return answer;
    } finally {
      clearTimeout(timer);
    }
  };
}

/** Seconds. */
function waitAskedFor(target: string, { body }: RequestInit): number {
  const asked = new URL(target).searchParams.get("wait_seconds");
  return Number(asked ?? /"wait_seconds":(\d+)/.exec(typeof body === "string" ? body : "")?.[1] ?? 0);
}

function noAnswer(target: string): ApiError {
  const title = "The server gives no answer.";
  const detail = `${new URL(target).origin} gives no answer.`;
  return new ApiError({ type: "about:blank", title, status: 0, detail, code: "UNAVAILABLE" });
}
