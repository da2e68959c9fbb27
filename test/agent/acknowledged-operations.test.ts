/** Which operations an agent remembers that are over: by the time of the orchestrator, whatever the machine's own clock says. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { AcknowledgedOperations } from "../../lib/agent/acknowledged-operations.ts";
import { seal } from "../../lib/agent/sealed-text.ts";
import { silentLogger } from "../../lib/logger.ts";
import { FakeClock } from "../../lib/testing/fake-clock.ts";
import { uuid } from "../support/agent-commands.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const hourMs = 3_600_000;
const tenYearsMs = 10 * 365 * 24 * hourMs;
const nowMs = Date.parse("2030-01-01T00:00:00.000Z");
const before = (hours: number): string => new Date(nowMs - hours * hourMs).toISOString();

/** Remembers 1,000 operations whose commands could arrive until so many hours before now, and then one more. */
function remembering(hours: number, aheadMs: number): { known: number; hasNew: boolean } {
  const stateDir = temporaryFolder();
  const ids = Array.from({ length: 1_000 }, (_, at) => uuid(at + 1));
  const operations = Object.fromEntries(ids.map((id) => [id, before(hours)]));
  for (const name of ["acknowledged.json", "acknowledged.copy.json"])
    writeFileSync(join(stateDir, name), `${seal({ version: 1, operations })}\n`);
  const clock = Object.assign(new FakeClock(), { now: () => nowMs + aheadMs });
  const context = { stateDir, clock, logger: silentLogger, orchestratorNow: () => nowMs };
  const acknowledged = new AcknowledgedOperations(context);
  acknowledged.add(uuid(2_000), before(0));
  const again = new AcknowledgedOperations(context);
  return { known: ids.filter((id) => again.has(id)).length, hasNew: again.has(uuid(2_000)) };
}

test.each([
  ["right", 0],
  ["ten years ahead", tenYearsMs],
  ["ten years behind", -tenYearsMs],
])(
  "with a clock that is %s, forgets what is past for a day, down to a thousand, and nothing else",
  (_name, aheadMs) => {
    expect(remembering(23, aheadMs)).toEqual({ known: 1_000, hasNew: true });
    expect(remembering(24, aheadMs)).toEqual({ known: 1_000, hasNew: true });
    expect(remembering(25, aheadMs)).toEqual({ known: 999, hasNew: true });
  },
);
