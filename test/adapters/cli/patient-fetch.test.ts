import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { patientFetch } from "../../../adapters/cli/patient-fetch.ts";
import { deferred } from "../../support/deferred.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }));
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

/** A server that answers when it is told to, and what is said meanwhile. */
function silentServer() {
  const told: string[] = [];
  const answers: (() => void)[] = [];
  vi.spyOn(globalThis, "fetch").mockImplementation(async () => {
    const answer = deferred();
    answers.push(() => answer.resolve());
    await answer.promise;
    return new Response("{}");
  });
  const send = patientFetch(({ message }) => void told.push(message));
  return { told, send, answer: () => answers.splice(0).forEach((give) => give()) };
}

const said = "http://fleet.example:4748 gives no answer.";

it("says once that a server that takes the connection gives no answer, and again after one", async () => {
  const { told, send, answer } = silentServer();
  const url = "http://fleet.example:4748/api/v1/agents?limit=1";
  const first = [send(url, {}), send(url, {})];
  vi.advanceTimersByTime(9_999);
  expect(told).toEqual([]);
  vi.advanceTimersByTime(60_000);
  expect(told).toEqual([said]);
  answer();
  await Promise.all(first);
  vi.advanceTimersByTime(60_000);
  const second = send(url, {});
  vi.advanceTimersByTime(10_000);
  expect(told).toEqual([said, said]);
  answer();
  await second;
});

it.each([
  ["a query", "?show_agents=0&wait_seconds=30", {}],
  ["a body", "", { method: "POST", body: '{"modules":["web"],"wait_seconds":30}' }],
])("does not count what the server was asked to wait in %s", async (_, query, init) => {
  const { told, send, answer } = silentServer();
  const call = send(`http://fleet.example:4748/api/v1/rollouts${query}`, init);
  vi.advanceTimersByTime(39_999);
  expect(told).toEqual([]);
  vi.advanceTimersByTime(1);
  expect(told).toEqual([said]);
  answer();
  await call;
});
