import { chmodSync, existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { AttributeReports } from "../../lib/agent/attribute-reports.ts";
import { type Clock, systemClock } from "../../lib/clock.ts";
import { LocalHost } from "../../lib/host/local-host.ts";
import { silentLogger } from "../../lib/logger.ts";
import { FakeClock } from "../../lib/testing/fake-clock.ts";
import { agentMessageSchema, type Attributes } from "../../lib/wire/messages.ts";
import { deferred, settle, settleAll } from "../support/deferred.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { waitFor } from "../support/wait-for.ts";

/** What an agent tells of a machine whose owner adds something. */
function begin({ clock = systemClock, run }: { clock?: Clock; run?: () => Promise<string> } = {}) {
  const stateDir = temporaryFolder();
  const folder = join(stateDir, "attributes.d");
  mkdirSync(folder, { mode: 0o755 });
  const told: Attributes[] = [];
  const host = new LocalHost({ stateFolder: stateDir, clock: systemClock });
  if (run) {
    const truncated = { stdout: false, stderr: false };
    const ended = { exitCode: 0, signal: null, timedOut: false, stderr: "", truncated };
    host.run = async () => ({ ...ended, stdout: await run() });
  }
  const line = { isUp: true };
  const reports = new AttributeReports({
    stateDir,
    root: undefined,
    host,
    clock,
    logger: silentLogger,
    send(message) {
      if (!line.isUp) return false;
      // As it is on the wire.
      const parsed = agentMessageSchema.parse(JSON.parse(JSON.stringify(message)));
      if (parsed.type === "attributes") told.push(parsed.attributes);
      return true;
    },
  });
  onTestFinished(() => reports.stop());
  const put = (name: string, text: string, mode = 0o644): void => {
    writeFileSync(join(folder, name), text);
    chmodSync(join(folder, name), mode);
  };
  return { reports, told, put, folder, line };
}

test.runIf(process.platform === "linux")(
  "what a program of the owner prints is in every report, also in those asked for while it runs",
  async () => {
    const { reports, told, put } = begin();
    put("rack", `#!/bin/sh\nsleep 0.3\necho '{"rack": 4}'\n`, 0o755);
    reports.begin();
    reports.report();
    reports.report();
    await waitFor(() => expect(told.length).toBeGreaterThanOrEqual(2));
    expect(told.map((attributes) => attributes["custom.rack"])).toEqual(told.map(() => 4));
  },
);

test.runIf(process.platform === "linux")(
  "an agent that stops while a program of the owner runs tells nothing without it",
  async () => {
    const { reports, told, put, folder } = begin();
    put("rack", `#!/bin/sh\ntouch ${folder}/.begun\nexec sleep 60\n`, 0o755);
    reports.begin();
    await waitFor(() => expect(existsSync(join(folder, ".begun"))).toBe(true));
    reports.stop();
    await setTimeout(300);
    expect(told).toEqual([]);
  },
);

test("a number of the owner's that is too large for one is left out, and the rest is told", () => {
  const { reports, told, put } = begin();
  put("a.json", '{"huge": 1e999, "least": -1e999, "nested": {"huge": 1e400}, "good": 1e300}');
  reports.report();
  const custom = Object.entries(told[0] ?? {}).filter(([name]) => name.startsWith("custom."));
  expect(custom).toEqual([["custom.good", 1e300]]);
});

const minute = 60_000;
const racks = (told: readonly Attributes[]): unknown[] => told.map((each) => each["custom.rack"]);

test("what the owner changes is told within a minute, once, for as long as there is a connection", async () => {
  const clock = new FakeClock();
  const { reports, told, put, line } = begin({ clock });
  put("a.json", '{"rack": 1}');
  reports.begin();
  await clock.advance(3 * minute);
  expect(racks(told)).toEqual([1]);
  put("a.json", '{"rack": 2}');
  await clock.advance(minute - 1);
  expect(racks(told)).toEqual([1]);
  await clock.advance(1);
  expect(racks(told)).toEqual([1, 2]);
  // What could not be sent is told a minute later.
  put("a.json", '{"rack": 3}');
  line.isUp = false;
  await clock.advance(minute);
  line.isUp = true;
  await clock.advance(3 * minute);
  expect(racks(told)).toEqual([1, 2, 3]);
  reports.pause();
  put("a.json", '{"rack": 4}');
  await clock.advance(3 * minute);
  expect(racks(told)).toEqual([1, 2, 3]);
  reports.begin();
  await clock.advance(3 * minute);
  expect(racks(told)).toEqual([1, 2, 3, 4]);
  reports.stop();
  expect(clock.pendingTimers).toBe(0);
});

test("a program of the owner is run once more for all that was asked while it ran, and no more than that", async () => {
  let runs = 0;
  const { reports, told, put } = begin({
    run: async () => {
      runs += 1;
      await settle();
      return `{"rack": ${runs}}`;
    },
  });
  put("rack", "", 0o755);
  reports.begin();
  for (let asked = 0; asked < 3; asked += 1) reports.report();
  await settleAll();
  expect([runs, racks(told)]).toEqual([2, [1, 2]]);
});

test("a program of the owner that takes long is not run beside itself, nor told of without what it prints", async () => {
  const clock = new FakeClock();
  let printed = deferred<string>();
  let runs = 0;
  const { reports, told, put } = begin({ clock, run: () => ((runs += 1), printed.promise) });
  put("rack", "", 0o755);
  reports.begin();
  await clock.advance(2 * minute);
  expect([runs, told]).toEqual([1, []]);
  printed.resolve('{"rack": 1}');
  await settleAll();
  expect(racks(told)).toEqual([1]);
  // It runs when the connection ends: what it prints is of no use any more.
  printed = deferred();
  await clock.advance(minute);
  reports.pause();
  printed.resolve('{"rack": 2}');
  await settleAll();
  expect([runs, racks(told)]).toEqual([2, [1]]);
});
