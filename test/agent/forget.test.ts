/** An agent that forgets: whatever it is cut off at, what it was to forget is forgotten in whole or not at all. */
import { describe, expect, test } from "vitest";
import { AppliedSet } from "../../lib/agent/applied-set.ts";
import { foreseeForgetting } from "../../lib/agent/forget.ts";
import { OperationJournal } from "../../lib/agent/operation-journal.ts";
import { recoverCutOff } from "../../lib/agent/recovery.ts";
import { MemoryHost } from "../../lib/host/memory-host.ts";
import { silentLogger } from "../../lib/logger.ts";
import { resourceTypes } from "../../lib/state/resources/index.ts";
import type { AppliedResource } from "../../lib/state/run/applied-resource.ts";
import { FakeClock } from "../../lib/testing/fake-clock.ts";
import { resource, uuid } from "../support/agent-commands.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const conf = resource({ id: "conf", type: "file", path: "/conf", content: "ours" });
const site = resource({ id: "site", type: "file", path: "/site", content: "ours" });
const shared = { ...conf, module: "base" };
const entries: AppliedResource[] = [
  { resource: conf, prior: null, changed: true, others: [shared] },
  { resource: site, prior: null, changed: true },
];
const owed = {
  thing: "path:/site",
  module: "web",
  resource_id: "site",
  type: "file",
  identity: "/site",
  trigger: "reload" as const,
  causes: ["web/conf"],
  operation_id: uuid(1),
};

interface Started {
  journal: OperationJournal;
  applied: AppliedSet;
  recover: () => Promise<void>;
}

function start(stateDir: string): Started {
  const clock = new FakeClock();
  const journal = new OperationJournal({ stateDir, clock, logger: silentLogger });
  const applied = new AppliedSet(stateDir);
  const host = new MemoryHost();
  const parts = { journal, applied, host, types: resourceTypes, clock, logger: silentLogger };
  return { journal, applied, recover: () => recoverCutOff(parts) };
}

/** An agent that was killed while it forgot, before or after it had noted what. */
async function killed(names: string[], { isNoted }: { isNoted: boolean }): Promise<Started> {
  const stateDir = temporaryFolder();
  const { journal, applied } = start(stateDir);
  applied.replace(entries, [owed]);
  journal.accept({ operation_id: uuid(2), kind: "forget", not_after: "2030-01-01T01:00:00.000Z" });
  journal.started(uuid(2));
  if (isNoted) journal.results(uuid(2), foreseeForgetting(names, applied));
  const again = start(stateDir);
  await again.recover();
  return again;
}

describe("killed while it forgets", () => {
  test("before it has noted what, it forgets nothing", async () => {
    const { journal, applied } = await killed(["web"], { isNoted: false });
    expect([applied.resources, applied.owed]).toEqual([entries, [owed]]);
    expect(journal.resultOf(uuid(2))).toMatchObject({ status: "interrupted", results: [] });
  });

  test("after that it finishes, and tells what is forgotten", async () => {
    const { journal, applied } = await killed(["web"], { isNoted: true });
    expect(applied.resources).toEqual([{ resource: shared, prior: null, changed: true }]);
    expect(applied.owed).toEqual([]);
    const told = journal.resultOf(uuid(2));
    expect(told).toMatchObject({ status: "interrupted" });
    expect(told!.results.map(({ resource_id, action }) => `${resource_id} ${action}`)).toEqual([
      "conf forget",
      "site forget",
    ]);
  });

  test("what another module claims stays as it was noted", async () => {
    const { applied } = await killed(["base/conf"], { isNoted: true });
    expect(applied.resources).toEqual([{ resource: conf, prior: null, changed: true }, entries[1]]);
    expect(applied.owed).toEqual([owed]);
  });
});

test.each([
  [1, ""],
  [5, ""],
  [6, " and 1 more"],
  [250, " and 245 more"],
])("of %i names that the agent does not own, it tells the first five and lists a hundred", (count, more) => {
  const { applied } = start(temporaryFolder());
  applied.replace(entries);
  const missing = Array.from({ length: count }, (_, at) => `web/gone-${at}`);
  expect(() => foreseeForgetting(["web", ...missing, "base/conf"], applied)).toThrow(
    expect.objectContaining({
      code: "NOT_FOUND",
      message: `The agent owns no ${missing.slice(0, 5).join(", no ")}${more}. Nothing was forgotten.`,
      details: { missing: missing.slice(0, 100) },
    }),
  );
  expect(applied.resources).toEqual(entries);
});
