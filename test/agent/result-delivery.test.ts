/** How results go to the orchestrator, and when the agent forgets them. */
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { AppliedSet } from "../../lib/agent/applied-set.ts";
import { OperationJournal } from "../../lib/agent/operation-journal.ts";
import { ResultDelivery } from "../../lib/agent/result-delivery.ts";
import { silentLogger } from "../../lib/logger.ts";
import { FakeClock } from "../../lib/testing/fake-clock.ts";
import { resource, uuid } from "../support/agent-commands.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const at = "2030-01-01T00:00:00.000Z";

function begin() {
  const stateDir = temporaryFolder();
  const clock = new FakeClock();
  const open = () => ({
    journal: new OperationJournal({ stateDir, clock, logger: silentLogger }),
    applied: new AppliedSet(stateDir),
  });
  const { journal, applied } = open();
  const sent: string[] = [];
  const delivery = new ResultDelivery({
    journal,
    applied,
    clock,
    logger: silentLogger,
    send: (message) => sent.push(message.type === "result" ? message.operation_id : message.type) > 0,
  });
  const end = (number: number): void => {
    const operation_id = uuid(number);
    journal.accept({ operation_id, kind: "apply", not_after: "2030-01-01T01:00:00.000Z" });
    const times = { started_at: at, finished_at: at, duration_ms: 0 };
    journal.finish({ type: "result", operation_id, status: "succeeded", results: [], output: [], ...times });
  };
  return { stateDir, clock, journal, applied, delivery, sent, end, open };
}

test("a result is not acknowledged before what it applied is on disk", () => {
  const { stateDir, journal, applied, delivery, end, open } = begin();
  const file = resource({ type: "file", path: "/etc/motd", content: "hello" });
  const inTheWay = join(stateDir, "applied.json");
  mkdirSync(join(inTheWay, "full"), { recursive: true });
  expect(() => applied.replace([{ resource: file, prior: null }])).toThrow();
  end(1);
  expect(() => delivery.acknowledge(uuid(1))).toThrow();
  expect(journal.finished()).toEqual([uuid(1)]);
  rmSync(inTheWay, { recursive: true });
  delivery.acknowledge(uuid(1));
  const again = open();
  expect([again.journal.finished(), again.applied.resources]).toEqual([
    [],
    [{ resource: file, prior: null }],
  ]);
});

test("results are sent once a minute until they are acknowledged, however often a connection begins", async () => {
  const { clock, delivery, sent, end } = begin();
  for (const number of [1, 2]) end(number);
  delivery.begin();
  delivery.begin();
  expect(sent.splice(0)).toEqual([uuid(1), uuid(2), uuid(1), uuid(2)]);
  await clock.advance(60_000);
  expect(sent.splice(0)).toEqual([uuid(1), uuid(2)]);
  delivery.acknowledge(uuid(1));
  await clock.advance(60_000);
  expect(sent.splice(0)).toEqual([uuid(2)]);
  delivery.pause();
  await clock.advance(120_000);
  expect([sent, clock.pendingTimers]).toEqual([[], 0]);
});
