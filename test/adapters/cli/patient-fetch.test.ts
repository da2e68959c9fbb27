import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { createKeyFile } from "fleetwright/client/node";
import { patientFetch } from "../../../adapters/cli/patient-fetch.ts";
import { runIn } from "../../support/command-line.ts";
import { deferred } from "../../support/deferred.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }));
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

/** A server that answers when it is told to, and what is said meanwhile. */
function silentServer() {
  const told: string[] = [];
  const answers: ((failure: Error | null) => void)[] = [];
  vi.spyOn(globalThis, "fetch").mockImplementation(async () => {
    const answer = deferred<Error | null>();
    answers.push(answer.resolve);
    const failure = await answer.promise;
    if (failure) throw failure;
    return new Response("{}");
  });
  const send = patientFetch(({ message }) => void told.push(message));
  const answer = (failure: Error | null = null): void => answers.splice(0).forEach((give) => give(failure));
  return { told, send, answer };
}

const said = "http://fleet.example:4748 has given no answer for 10 s.";

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

it("says so again after a request that failed", async () => {
  const { told, send, answer } = silentServer();
  const url = "http://fleet.example:4748/api/v1/agents";
  for (const times of [1, 2]) {
    const call = send(url, {});
    vi.advanceTimersByTime(10_000);
    expect(told).toEqual(Array.from({ length: times }, () => said));
    answer(new TypeError("fetch failed"));
    await expect(call).rejects.toThrow("fetch failed");
  }
});

it.each([null, new TypeError("fetch failed")])(
  "says nothing of a request that ended in time, with %o",
  async (failure) => {
    const { told, send, answer } = silentServer();
    const call = send("http://fleet.example:4748/api/v1/agents", {});
    vi.advanceTimersByTime(9_999);
    answer(failure);
    await call.catch(() => {});
    vi.advanceTimersByTime(60_000);
    expect(told).toEqual([]);
  },
);

it.each([
  ["a query", "?show_agents=0&wait_seconds=30", {}],
  ["a body", "", { method: "POST", body: '{"modules":["web"],"wait_seconds":30}' }],
])("does not count what the server was asked to wait in %s", async (_, query, init) => {
  const { told, send, answer } = silentServer();
  const call = send(`http://fleet.example:4748/api/v1/rollouts${query}`, init);
  vi.advanceTimersByTime(39_999);
  expect(told).toEqual([]);
  vi.advanceTimersByTime(1);
  expect(told).toEqual(["http://fleet.example:4748 has given no answer for 40 s."]);
  answer();
  await call;
});

it.each(["login", "logout", "whoami", "agents list"])("%s says so, too", async (command) => {
  const folder = temporaryFolder();
  const key = join(folder, "key");
  createKeyFile(key);
  mkdirSync(join(folder, "home"));
  const profile = { url: "http://fleet.example:4748", key, token: "t" };
  writeFileSync(join(folder, "home", "profile.json"), JSON.stringify(profile));
  vi.spyOn(globalThis, "fetch").mockImplementation(() => {
    vi.advanceTimersByTime(10_000);
    return Promise.resolve(Response.json({ code: "UNAUTHENTICATED" }, { status: 401 }));
  });
  const { stderr } = await runIn(folder, command.split(" "));
  expect(stderr).toContain(said);
});
