/** Programs that the owner of a machine adds, while the machine is slow and when the agent ends. */
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { createAgent } from "../../lib/agent/agent.ts";
import type { Space } from "../../lib/agent/metrics/measured-machine.ts";
import { MemoryHost } from "../../lib/host/memory-host.ts";
import { FakeClock } from "../../lib/testing/fake-clock.ts";
import { settleAll } from "../support/deferred.ts";
import { RecordedMachine } from "../support/recorded-machine.ts";
import { RecordingLogger } from "../support/recording-logger.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { TestOrchestrator } from "../support/test-orchestrator.ts";
import { waitFor } from "../support/wait-for.ts";

/** An agent with an orchestrator, of a machine whose owner adds these. */
async function begin({ programs = [] as string[], machine = new RecordedMachine() } = {}) {
  const stateDir = temporaryFolder();
  for (const path of programs) {
    mkdirSync(join(stateDir, path, ".."), { recursive: true, mode: 0o755 });
    writeFileSync(join(stateDir, path), "#!/bin/sh\n");
    chmodSync(join(stateDir, path), 0o755);
  }
  const clock = new FakeClock();
  const orchestrator = new TestOrchestrator(clock);
  await orchestrator.start();
  const host = new MemoryHost();
  const running = new Map<string, AbortSignal>();
  host.run = ({ argv: [path] }, signal) => {
    running.set(path.slice(stateDir.length + 1), signal);
    return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason as Error)));
  };
  const logger = new RecordingLogger();
  const dial = async () => orchestrator.transport.connect();
  const agent = createAgent({ stateDir, host, measured: machine, clock, logger, dial, terminals: false });
  onTestFinished(() => agent.stop());
  await agent.start();
  await orchestrator.happened("connected");
  return { agent, clock, running, logger, orchestrator };
}

const folders = ["attributes.d", "metrics.d"] as const;

test.each([{ now: false }, { now: true }])(
  "no program of any folder runs on when the agent stops, with %j",
  async (how) => {
    const programs = folders.map((folder) => `${folder}/program`);
    const { agent, clock, running, logger } = await begin({ programs });
    await clock.advance(2_000);
    await waitFor(() => expect([...running.keys()].sort()).toEqual(programs));
    expect([...running.values()].map(({ aborted }) => aborted)).toEqual([false, false]);
    await agent.stop(how);
    expect([...running.values()].map(({ aborted }) => aborted)).toEqual([true, true]);
    expect(logger.of("warn")).toEqual([]);
  },
);

test("a machine that has not answered is not asked for a further sample, and gives one again when it has", async () => {
  class SlowMachine extends RecordedMachine {
    looks = 0;
    answer: (space: Space | null) => void = () => {};
    isSlow = false;

    override read(path: string): string | null {
      if (path === "/proc/stat") this.looks += 1;
      return super.read(path);
    }

    override space(path: string): Promise<Space | null> {
      return this.isSlow ? new Promise((answer) => (this.answer = answer)) : super.space(path);
    }
  }
  const machine = new SlowMachine();
  const { clock, orchestrator } = await begin({ machine });
  const samples = (): number => orchestrator.inbox.filter(({ type }) => type === "metrics").length;
  await clock.advance(2_000);
  await waitFor(() => expect(samples()).toBe(1));
  machine.texts.set("/proc/self/mountinfo", "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n");
  machine.isSlow = true;
  const before = machine.looks;
  for (let turn = 0; turn < 4; turn += 1) {
    await clock.advance(15_000);
    await settleAll();
  }
  expect([machine.looks - before, samples()]).toEqual([1, 1]);
  machine.isSlow = false;
  machine.answer(null);
  await settleAll();
  await clock.advance(15_000);
  await waitFor(() => expect(machine.looks - before).toBe(2));
  await waitFor(() => expect(samples()).toBeGreaterThan(1));
});
