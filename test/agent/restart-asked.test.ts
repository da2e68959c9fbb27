/** What an agent makes of an operation that was to restart it, where it can't find out which run of its service it is. */
import { describe, expect, it } from "vitest";
import { AppliedSet } from "../../lib/agent/applied-set.ts";
import type { JournalRecord } from "../../lib/agent/journal-record.ts";
import { OperationJournal } from "../../lib/agent/operation-journal.ts";
import { concludeRestart } from "../../lib/agent/own-restart.ts";
import { MemoryHost } from "../../lib/host/memory-host.ts";
import type { ResourceType, ResourceTypes } from "../../lib/state/resource-type.ts";
import { resourceTypes } from "../../lib/state/resources/index.ts";
import { FakeClock } from "../../lib/testing/fake-clock.ts";
import { resource, uuid } from "../support/agent-commands.ts";
import { RecordingLogger } from "../support/recording-logger.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const service = resource({ id: "agent", type: "service", name: "agent", running: true });
const at = "2030-01-01T00:00:00.000Z";
const times = { started_at: at, finished_at: at, duration_ms: 1 };
const result = {
  type: "result",
  operation_id: uuid(1),
  status: "succeeded",
  results: [],
  output: [],
  ...times,
} as const;

/** The types, of which a service tells its run so; null: nobody can restart it. */
function typesWith(ownRun: (() => Promise<string | null>) | null): ResourceTypes {
  const { ending, ...type }: ResourceType<unknown> = resourceTypes.get("service")!;
  const changed = ownRun === null ? type : { ...type, ending: { ...ending!, ownRun } };
  return new Map([...resourceTypes, ["service", changed]]);
}

interface Given {
  types: ResourceTypes;
  /** The start of the machine: that of then, and that of now. */
  boots?: [then: string | undefined, now: string | null];
  spec?: object;
}

async function conclude({ types, boots: [then, now] = ["a", "a"], spec = {} }: Given) {
  const stateDir = temporaryFolder();
  const [clock, logger] = [new FakeClock(), new RecordingLogger()];
  const journal = new OperationJournal({ stateDir, clock, logger, boot: now });
  const applied = new AppliedSet(stateDir);
  const record: JournalRecord = {
    record: "restarting",
    resource: { ...service, spec: { ...service.spec, ...spec } },
    own_run: "run 1",
    owed: [],
    result: { ...result, results: [], output: [] },
    ...(then !== undefined && { boot: then }),
  };
  journal.accept({ operation_id: uuid(1), kind: "apply", not_after: at });
  const operation = { operation_id: uuid(1), records: [record] };
  const outcome = await concludeRestart(operation, {
    journal,
    applied,
    host: new MemoryHost(),
    types,
    clock,
    logger,
  });
  return { outcome, ended: journal.resultOf(uuid(1))?.status ?? null, lines: logger.lines };
}

describe("an operation that was to restart the agent", () => {
  it("is interrupted where nobody answers, and the log says why", async () => {
    const error = new Error("no answer");
    const types = typesWith(() => Promise.reject(error));
    expect(await conclude({ types })).toEqual({
      outcome: "interrupted",
      ended: null,
      lines: [
        {
          level: "warn",
          message: "Whether the agent was restarted could not be found out.",
          fields: { error },
        },
      ],
    });
  });

  it.each<[what: string, types: ResourceTypes, given: Omit<Given, "types">]>([
    ["this is no run of the service", typesWith(async () => null), {}],
    ["this is the run that was to end", typesWith(async () => "run 1"), {}],
    [
      "this is the run that was to end, as far as it is known of the machine's starts then",
      typesWith(async () => "run 1"),
      { boots: [undefined, "b"] },
    ],
    [
      "this is the run that was to end, as far as it is known of the machine's starts now",
      typesWith(async () => "run 1"),
      { boots: ["a", null] },
    ],
    ["services of this version can't be restarted so", typesWith(null), {}],
    ["the service is of no form that is known here", typesWith(async () => "run 2"), { spec: { name: 1 } }],
  ])("is interrupted where %s", async (_what, types, given) => {
    expect(await conclude({ types, ...given })).toEqual({ outcome: "interrupted", ended: null, lines: [] });
  });

  it.each<[what: string, run: string, boots: Given["boots"]]>([
    ["this is another run", "run 2", ["a", "a"]],
    ["the machine was started since, and counts its runs anew", "run 1", ["a", "b"]],
  ])("has ended as it was foretold where %s", async (_what, run, boots) => {
    const found = await conclude({ types: typesWith(async () => run), ...(boots && { boots }) });
    expect(found).toEqual({ outcome: "done", ended: "succeeded", lines: [] });
  });
});
