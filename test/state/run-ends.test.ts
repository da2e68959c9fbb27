/** What is left of a run when it has ended: no timer, no listener, and nothing noted of what it did not do. */
import { getEventListeners } from "node:events";
import { expect, test } from "vitest";
import { OrchestratorError } from "../../lib/errors.ts";
import type { JsonObject } from "../../lib/json.ts";
import { FakeClock } from "../../lib/testing/fake-clock.ts";
import { wholeMachine } from "../support/machine/whole-machine.ts";
import { createMachine, declare, StateFixture } from "../support/state-fixture.ts";

const work = { id: "s", type: "script", run: ["work"], creates: "/done" };
const retry = { attempts: 3, delay_seconds: 10 };

interface Ending {
  clock: FakeClock;
  cancel: AbortController;
  cut: AbortController;
  write: (path: string) => void;
}

/** What its program does, what is declared, what happens while it lasts, and how it ends. */
const endings: Record<
  string,
  {
    program: (
      ending: Ending,
      signal: AbortSignal,
    ) => { exitCode?: number | null } | Promise<{ exitCode: null }>;
    more?: JsonObject;
    meanwhile?: (ending: Ending) => unknown;
    status: string;
  }
> = {
  "with success": { program: ({ write }) => (write("/done"), {}), status: "succeeded" },
  "with a failure": { program: () => ({ exitCode: 1 }), status: "failed" },
  "after its tries": {
    program: () => ({ exitCode: 1 }),
    more: { retry },
    meanwhile: ({ clock }) => clock.advance(20_000),
    status: "failed",
  },
  "cancelled between two tries": {
    program: () => ({ exitCode: 1 }),
    more: { retry },
    meanwhile: ({ cancel }) => cancel.abort(new OrchestratorError("CANCELLED")),
    status: "failed",
  },
  "cancelled in the middle of a try, with more of them left": {
    program: (_ending, signal) => untilEnded(signal),
    more: { retry },
    meanwhile: ({ cancel }) => cancel.abort(new OrchestratorError("CANCELLED")),
    status: "cancelled",
  },
  "cancelled in the middle of its program": {
    program: (_ending, signal) => untilEnded(signal),
    meanwhile: ({ cancel }) => cancel.abort(new OrchestratorError("CANCELLED")),
    status: "cancelled",
  },
  "cut in the middle of its program": {
    program: (_ending, signal) => untilEnded(signal),
    meanwhile: ({ cut }) => cut.abort(new OrchestratorError("CANCELLED")),
    status: "cancelled",
  },
  "by the time limit of its resource": {
    program: (_ending, signal) => untilEnded(signal),
    more: { timeout_seconds: 5 },
    meanwhile: ({ clock }) => clock.advance(5000),
    status: "failed",
  },
  "by its own time limit": {
    program: (_ending, signal) => untilEnded(signal),
    meanwhile: ({ clock }) => clock.advance(60_000),
    status: "timed_out",
  },
};

function untilEnded(signal: AbortSignal): Promise<{ exitCode: null }> {
  return new Promise((resolve) =>
    signal.addEventListener("abort", () => resolve({ exitCode: null }), { once: true }),
  );
}

test.each(Object.entries(endings))(
  "a run that ends %s leaves no timer and no listener",
  async (_how, { program, more = {}, meanwhile, status }) => {
    const [clock, cancel, cut] = [new FakeClock(), new AbortController(), new AbortController()];
    const write = (path: string): void => state.write(path, "");
    const ending = { clock, cancel, cut, write };
    let begin = (): void => {};
    const begun = new Promise<void>((resolve) => (begin = resolve));
    const host = createMachine({ work: (_command, signal) => (begin(), program(ending, signal)) });
    const state = new StateFixture(host, clock);
    const running = state.run("apply", declare([{ ...work, ...more }]), {
      signal: cancel.signal,
      cut: cut.signal,
    });
    await begun;
    await clock.advance(0);
    await meanwhile?.(ending);
    expect((await running).status).toBe(status);
    expect(clock.pendingTimers).toBe(0);
    expect([cancel, cut].flatMap(({ signal }) => getEventListeners(signal, "abort"))).toEqual([]);
  },
);

test("what was cut before it changed anything is not noted as ours", async () => {
  const cut = new AbortController();
  const host = wholeMachine();
  const run = host.run.bind(host);
  host.run = async (command, signal) => {
    if (command.argv.join(" ") !== "service ssh start") return run(command, signal);
    cut.abort(new OrchestratorError("CANCELLED"));
    return { ...(await run({ argv: ["service", "ssh", "status"] }, signal)), exitCode: null };
  };
  const state = new StateFixture(host);
  const untouched: string[] = [];
  const { results, status } = await state.run(
    "apply",
    declare([{ id: "s", type: "service", name: "ssh", running: true }]),
    { cut: cut.signal, onUntouched: (identity) => untouched.push(identity) },
  );
  expect([status, results[0]?.outcome]).toEqual(["cancelled", "failed"]);
  expect(untouched).toEqual(["service:ssh"]);
  expect(state.applied).toEqual([]);
});
