/** What is ours after an operation that was cut off, line by line of its journal. */
import { describe, expect, test } from "vitest";
import { AppliedSet } from "../../lib/agent/applied-set.ts";
import { OperationJournal } from "../../lib/agent/operation-journal.ts";
import { recoverCutOff } from "../../lib/agent/recovery.ts";
import type { LeftProgram } from "../../lib/host/host.ts";
import { MemoryHost } from "../../lib/host/memory-host.ts";
import { silentLogger } from "../../lib/logger.ts";
import type { ResolvedResource } from "../../lib/state/resource.ts";
import { resourceTypes } from "../../lib/state/resources/index.ts";
import type { ResourceResult } from "../../lib/state/result.ts";
import type { AppliedResource } from "../../lib/state/run/applied-resource.ts";
import { FakeClock } from "../../lib/testing/fake-clock.ts";
import { resource, uuid } from "../support/agent-commands.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const not_after = "2030-01-01T01:00:00.000Z";
const conf = resource({ id: "conf", type: "file", path: "/conf", content: "one" });
const confLater = resource({ id: "conf", type: "file", path: "/conf", content: "two" });
const ofBase: ResolvedResource = { ...conf, module: "base" };
const absent = { type: "file", spec: { path: "/conf", ensure: "absent" } };
const theirs = { type: "file", spec: { path: "/conf", ensure: "present", content: "theirs" } };
const script = resource({ id: "make", type: "script", run: "make", creates: "/made", undo: "unmake" });
const noted: AppliedResource = { resource: conf, prior: absent };

interface Life {
  journal: OperationJournal;
  applied: AppliedSet;
  host: MemoryHost;
}

function live(stateDir: string, boot: string | null, host = new MemoryHost()): Life {
  const clock = new FakeClock();
  const journal = new OperationJournal({ stateDir, clock, logger: silentLogger, boot });
  return { journal, applied: new AppliedSet(stateDir), host };
}

interface Cut {
  before?: AppliedResource[];
  /** What stands at `/conf` when the agent starts again; absent = nothing. */
  stands?: string;
  boots?: [before: string | null, after: string | null];
  write?: (journal: OperationJournal) => void;
  left?: LeftProgram[];
}

/** An agent that was killed in operation 1, and has started again. Operation 2 waited where there are programs that were left. */
async function startAgain({ before = [], stands, boots = ["a", "a"], write, left }: Cut): Promise<Life> {
  const stateDir = temporaryFolder();
  const { journal, applied, host } = live(stateDir, boots[0]);
  if (before.length > 0) applied.replace(before);
  for (const number of left ? [1, 2] : [1])
    journal.accept({ operation_id: uuid(number), kind: "apply", not_after });
  journal.started(uuid(1));
  write?.(journal);
  if (stands !== undefined) host.files.writeFile("/conf", Buffer.from(stands), {});
  const life = live(stateDir, boots[1], host);
  const parts = { types: resourceTypes, clock: new FakeClock(), logger: silentLogger, ...(left && { left }) };
  await recoverCutOff({ ...life, ...parts });
  return life;
}

function changed({ resource_id, module, type, identity }: ResolvedResource): ResourceResult {
  const done = { outcome: "changed", action: "update", attempts: 1, duration_ms: 1 } as const;
  return { resource_id, module, type, identity, ...done, changes: [], caused_by: [] };
}

const path = "path:/conf";

const begun = (journal: OperationJournal, of?: ResolvedResource, removal = false): void =>
  journal.begun(uuid(1), { identity: path, removal, ...(of && { resource: of }) });

/** Begins a change of what is not there before it. */
function beginsAnew(journal: OperationJournal): void {
  journal.captured(uuid(1), [{ resource: confLater, prior: absent }]);
  begun(journal);
}

type Case = [name: string, cut: Cut, ours: AppliedResource[]];

const cases: Case[] = [
  [
    "what the machine has lost is not ours where nobody knows in which start of the machine the operation ran",
    { before: [noted], boots: [null, null] },
    [],
  ],
  [
    "what the machine has lost is not ours where it was started again since",
    { before: [noted], boots: ["a", "b"] },
    [],
  ],
  ["what no line names stays as it was noted while the machine ran on", { before: [noted] }, [noted]],
  [
    "a new version is noted as soon as it is begun, and a removal that failed before is forgotten",
    {
      before: [{ ...noted, stuck: true }],
      stands: "two",
      write: (journal) => begun(journal, confLater),
    },
    [{ ...noted, resource: confLater }],
  ],
  [
    "what another module wanted of the same thing stays wanted by that one",
    {
      before: [{ resource: ofBase, prior: null, changed: true }],
      stands: "two",
      write(journal) {
        journal.captured(uuid(1), [{ resource: confLater, prior: null }]);
        begun(journal);
        journal.results(uuid(1), [changed(confLater)]);
      },
    },
    [{ resource: confLater, prior: null, changed: true, others: [ofBase] }],
  ],
  [
    "what was ours with nothing to come back to is so in its new version, however the machine stands",
    { before: [{ resource: conf, prior: null, changed: true }], write: beginsAnew },
    [{ resource: confLater, prior: absent }],
  ],
  [
    "what was only declared, and stands as before its first change, is not ours",
    { before: [{ resource: conf, prior: null }], write: beginsAnew },
    [{ resource: conf, prior: null }],
  ],
  ...[true, false].map((isDone): Case => [
    `what was captured again, since it was otherwise when its turn came, comes back to that${isDone ? "" : ", also half done"}`,
    {
      stands: "two",
      write(journal) {
        journal.captured(uuid(1), [{ resource: confLater, prior: theirs }]);
        journal.captured(uuid(1), [{ resource: confLater, prior: absent }]);
        begun(journal);
        if (isDone) journal.results(uuid(1), [changed(confLater)]);
      },
    },
    [{ resource: confLater, prior: absent }],
  ]),
  [
    "a change of which nothing came leaves what was noted",
    {
      before: [noted],
      stands: "one",
      write(journal) {
        begun(journal, confLater);
        journal.untouched(uuid(1), path);
      },
    },
    [noted],
  ],
  [
    "a removal that was done to its end is no more ours, whatever somebody put there since",
    {
      before: [noted],
      stands: "theirs",
      write(journal) {
        begun(journal, undefined, true);
        journal.results(uuid(1), [{ ...changed(conf), action: "remove" }]);
      },
    },
    [],
  ],
  [
    "a removal that was only begun leaves what still stands ours",
    { before: [noted], stands: "one", write: (journal) => begun(journal, undefined, true) },
    [noted],
  ],
];

describe("after an operation that was cut off", () => {
  test.each(cases)("%s", async (_name, cut, ours) => {
    const { applied } = await startAgain(cut);
    expect(applied.resources).toEqual(ours);
  });

  const identity = "script:web/make";

  test("a script that was captured and never begun is not ours, also where the last lines may be lost", async () => {
    const write = (journal: OperationJournal): void =>
      journal.captured(uuid(1), [{ resource: script, prior: null, identity }]);
    const { applied } = await startAgain({ boots: ["a", "b"], write });
    expect(applied.resources).toEqual([]);
  });

  test("a script that was begun is ours, with what takes it back", async () => {
    const write = (journal: OperationJournal): void => {
      journal.captured(uuid(1), [{ resource: script, prior: null, identity }]);
      journal.begun(uuid(1), { identity, removal: false });
    };
    const { applied } = await startAgain({ write });
    const prior = { type: "script", spec: { run: "unmake", creates: "/made", inverse: true } };
    expect(applied.resources).toEqual([{ resource: script, prior }]);
  });

  test("only the operation that ran is told of the programs that it left, and that they were ended", async () => {
    const left: LeftProgram[] = [{ program: "/bin/sleep", processes: 2 }];
    const { journal } = await startAgain({ left });
    expect(journal.resultOf(uuid(1))).toMatchObject({
      status: "interrupted",
      error: { code: "COMMAND_FAILED", details: { programs: ["/bin/sleep"] } },
    });
    const waited = journal.resultOf(uuid(2));
    expect(waited).toMatchObject({ status: "interrupted" });
    expect(waited).not.toHaveProperty("error");
  });

  test("copies of old files go that nothing needs any more, and the others stay", async () => {
    const host = new MemoryHost();
    const digests = ["needed", "not needed"].map((content) => {
      host.files.writeFile("/old", Buffer.from(content), {});
      return host.backups.save("/old") as { sha256: string };
    });
    const [needed, rest] = digests.map(({ sha256 }) => sha256) as [string, string];
    const stateDir = temporaryFolder();
    const { journal, applied } = live(stateDir, "a", host);
    const prior = { type: "file", spec: { path: "/conf", ensure: "present", content_backup: needed } };
    applied.replace([{ resource: conf, prior }]);
    journal.accept({ operation_id: uuid(1), kind: "apply", not_after });
    const life = live(stateDir, "a", host);
    await recoverCutOff({
      ...life,
      types: resourceTypes,
      clock: new FakeClock(),
      logger: silentLogger,
    });
    expect([host.backups.sizeBytes(needed), host.backups.sizeBytes(rest)]).toEqual([6, null]);
  });
});
