/** Whose result tells of the programs that a killed agent had left running: that of the operation that had begun alone. */
import { expect, test } from "vitest";
import { AppliedSet } from "../../lib/agent/applied-set.ts";
import { OperationJournal } from "../../lib/agent/operation-journal.ts";
import { recoverCutOff } from "../../lib/agent/recovery.ts";
import { MemoryHost } from "../../lib/host/memory-host.ts";
import { silentLogger } from "../../lib/logger.ts";
import { resourceTypes } from "../../lib/state/resources/index.ts";
import { FakeClock } from "../../lib/testing/fake-clock.ts";
import { uuid } from "../support/agent-commands.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const notAfter = "2040-01-01T00:00:00.000Z";
const programs = ["/bin/sh", "/usr/bin/apt-get"];

/** What the results of operations that were cut off tell beside that, by which of them had begun. */
async function errorsOf(begun: readonly boolean[], left: readonly string[]): Promise<unknown[]> {
  const clock = new FakeClock();
  const base = { stateDir: temporaryFolder(), clock, logger: silentLogger };
  const journal = new OperationJournal(base);
  for (const [at, hasBegun] of begun.entries()) {
    journal.accept({ operation_id: uuid(at + 1), kind: "apply", not_after: notAfter });
    if (hasBegun) journal.started(uuid(at + 1));
  }
  const again = new OperationJournal(base);
  await recoverCutOff({
    ...base,
    journal: again,
    applied: new AppliedSet(base.stateDir),
    host: new MemoryHost(),
    types: resourceTypes,
    left: left.map((program) => ({ program, processes: 2 })),
  });
  const results = begun.map((_, at) => again.resultOf(uuid(at + 1)));
  expect(results.map((result) => result?.status)).toEqual(begun.map(() => "interrupted"));
  return results.map((result) => result?.error?.details ?? null);
}

test.each<[what: string, begun: boolean[], left: string[], expected: unknown[]]>([
  ["the one that had begun", [true], programs, [{ programs }]],
  ["none that only waited", [false, false], programs, [null, null]],
  [
    "the first of several, behind which the others waited",
    [true, false, false],
    programs,
    [{ programs }, null, null],
  ],
  ["none where nothing was left running", [true, false], [], [null, null]],
])("it is that of %s", async (_what, begun, left, expected) => {
  expect(await errorsOf(begun, left)).toEqual(expected);
});
