/** Requests that a server takes long to answer. */
import { ApiError } from "../client/api-error.ts";
import type { Fetch } from "../client/http.ts";

/** Whoever waits wonders from then on. */
const silenceSeconds = 10;

/**
 * A `fetch` that says, once until a request has ended, for how long a server has given no answer: one that takes connections and hangs is
 * waited for as long as one that works. What it was asked to wait with its answer is given to it. It counts from the call on, so that a
 * large body on a slow line is told of, too: nothing says how much of one was sent.
 */
export function patientFetch(tell: (error: ApiError) => void): Fetch {
  let isTold = false;
  return async (target, init) => {
    const seconds = silenceSeconds + waitAskedFor(target, init);
    const timer = setTimeout(() => {
      if (!isTold) tell(noAnswer(target, seconds));
      isTold = true;
    }, 1_000 * seconds);
    try {
      return await fetch(target, init);
    } finally {
      isTold = false;
      clearTimeout(timer);
    }
  };
}

/** Seconds. */
function waitAskedFor(target: string, { body }: RequestInit): number {
  const asked = new URL(target).searchParams.get("wait_seconds");
  return Number(asked ?? /"wait_seconds":(\d+)/.exec(typeof body === "string" ? body : "")?.[1] ?? 0);
}

function noAnswer(target: string, seconds: number): ApiError {
  const title = "The server has given no answer.";
  const detail = `${new URL(target).origin} has given no answer for ${seconds} s.`;
  return new ApiError({ type: "about:blank", title, status: 0, detail, code: "UNAVAILABLE" });
}
