import { chmodSync, existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { AttributeReports } from "../../lib/agent/attribute-reports.ts";
import { systemClock } from "../../lib/clock.ts";
import { LocalHost } from "../../lib/host/local-host.ts";
import { silentLogger } from "../../lib/logger.ts";
import { agentMessageSchema, type Attributes } from "../../lib/wire/messages.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { waitFor } from "../support/wait-for.ts";

/** What an agent tells of a machine whose owner adds something. */
function begin() {
  const stateDir = temporaryFolder();
  const folder = join(stateDir, "attributes.d");
  mkdirSync(folder, { mode: 0o755 });
  const told: Attributes[] = [];
  const reports = new AttributeReports({
    stateDir,
    root: undefined,
    host: new LocalHost({ stateFolder: stateDir, clock: systemClock }),
    clock: systemClock,
    logger: silentLogger,
    send(message) {
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
  return { reports, told, put, folder };
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
