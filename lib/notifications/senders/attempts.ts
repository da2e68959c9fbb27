/** What came of an attempt, told alike by all types. */
import type { Answered, OutboundFailure } from "../outbound/outbound.ts";
import type { Attempt, SendContext } from "./sender.ts";

/** Longest rest that a receiver can ask for, in milliseconds. */
const maxRestMs = 3_600_000;

/** Statuses from 400 to 499 that another time may change: timeout, too early, too many requests. */
const passing: ReadonlySet<number> = new Set([408, 425, 429]);

/** An attempt without its duration. */
type Outcome = Omit<Attempt, "duration_ms">;

/** Measures an attempt. */
export async function timed({ clock }: SendContext, attempt: () => Promise<Outcome>): Promise<Attempt> {
  const startedAt = clock.monotonic();
  const outcome = await attempt();
  return { ...outcome, duration_ms: Math.round(clock.monotonic() - startedAt) };
}

/** Sends JSON to an address by POST. */
export function postJson(
  url: string,
  { body, headers = {} }: { body: string; headers?: Readonly<Record<string, string>> },
  context: SendContext,
): Promise<Attempt> {
  const { outbound, signal, clock } = context;
  return timed(context, async () => {
    const all = { ...headers, "content-type": "application/json", "user-agent": "fleetwright" };
    const answer = await outbound.request(url, { method: "POST", headers: all, body, signal });
    return toOutcome(answer, clock.now());
  });
}

/** What a failure to reach the other side means. */
export function toFailed({ error, permanent }: OutboundFailure): Outcome {
  return { delivered: false, error, ...(permanent && { permanent }) };
}

function toOutcome(answer: Answered, nowMs: number): Outcome {
  if (!answer.ok) return toFailed(answer);
  const { status, retryAfter } = answer;
  if (status >= 200 && status < 300) return { delivered: true, status_code: status };
  const error = status >= 300 && status < 400 ? `it redirects (${status})` : `it answered ${status}`;
  const permanent = status < 500 && !passing.has(status);
  if (permanent) return { delivered: false, status_code: status, error, permanent };
  const rest = restOf(retryAfter, nowMs);
  return { delivered: false, status_code: status, error, ...(rest !== null && { retry_after_ms: rest }) };
}

/** What `retry-after` asks for: seconds, or a date. Null where it can't be read. */
function restOf(text: string | undefined, nowMs: number): number | null {
  if (text === undefined) return null;
  const ms = /^\d{1,10}(\.\d+)?$/.test(text) ? Number(text) * 1000 : Date.parse(text) - nowMs;
  return Number.isNaN(ms) ? null : Math.ceil(Math.min(Math.max(ms, 0), maxRestMs));
}
