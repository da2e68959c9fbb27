/** What limits a try: its time, and whoever ends it from outside. */
import { getEventListeners } from "node:events";
import { expect, test } from "vitest";
import { OrchestratorError } from "../../lib/errors.ts";
import { withDeadline } from "../../lib/state/run/deadline.ts";
import { FakeClock } from "../../lib/testing/fake-clock.ts";

const cancelled = new OrchestratorError("CANCELLED");
const killed = new OrchestratorError("COMMAND_FAILED", { message: "It was ended by SIGTERM." });
const told = new OrchestratorError("CANCELLED", { message: "SIGTERM ended it.", cause: cancelled });

/** Limits of 90 seconds that may be aborted. */
function limits(): { clock: FakeClock; timeoutMs: number; stop: AbortController; signal: AbortSignal } {
  const stop = new AbortController();
  return { clock: new FakeClock(), timeoutMs: 90_000, stop, signal: stop.signal };
}

const untilAborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));

test("what waits for nothing and was ended before counts as ended, and ends nothing that comes later", async () => {
  const ended = limits();
  ended.stop.abort(cancelled);
  expect(() => withDeadline(ended, ({ aborted }) => aborted)).toThrow(cancelled);
  expect(withDeadline(limits(), ({ aborted }) => aborted)).toBe(false);
  expect(await withDeadline(limits(), async ({ aborted }) => aborted)).toBe(false);
});

test("what is ended while it waits for nothing is no success, and ends nothing that comes later", () => {
  const ended = limits();
  expect(() => withDeadline(ended, () => ended.stop.abort(cancelled))).toThrow(cancelled);
  expect(withDeadline(limits(), ({ aborted }) => aborted)).toBe(false);
});

test.each<[what: string, end: () => unknown, error: OrchestratorError]>([
  ["ends as if nothing had happened", () => undefined, cancelled],
  ["fails", () => Promise.reject(killed), cancelled],
  ["says how it was ended for that", () => Promise.reject(told), told],
])("of what is ended from outside and %s the reason is told", async (_what, end, error) => {
  const ending = limits();
  const working = withDeadline(ending, (signal) => untilAborted(signal).then(end));
  ending.stop.abort(cancelled);
  await expect(working).rejects.toBe(error);
  expect([ending.clock.pendingTimers, getEventListeners(ending.signal, "abort")]).toEqual([0, []]);
});

test("what takes too long is told so, whatever it says of its end", async () => {
  const slow = limits();
  const working = withDeadline(slow, (signal) =>
    untilAborted(signal).then(() => {
      throw killed;
    }),
  );
  const failing = Promise.resolve(working).catch((error: unknown) => error);
  await slow.clock.advance(90_000);
  expect(await failing).toMatchObject({
    code: "RESOURCE_TIMEOUT",
    message: "It took longer than 90 s.",
    details: { timeout_seconds: 90 },
  });
  expect([slow.clock.pendingTimers, getEventListeners(slow.signal, "abort")]).toEqual([0, []]);
});

test("what fails by itself fails with its own error", async () => {
  await expect(withDeadline(limits(), () => Promise.reject(killed))).rejects.toBe(killed);
});
