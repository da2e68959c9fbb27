/** How an agent's results go to the orchestrator, and when it forgets them. */
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { AppliedSet } from "../../lib/agent/applied-set.ts";
import { OperationJournal, type OperationResult } from "../../lib/agent/operation-journal.ts";
import { ResultDelivery } from "../../lib/agent/result-delivery.ts";
import { FakeClock } from "../../lib/testing/fake-clock.ts";
import type { AgentMessage } from "../../lib/wire/messages.ts";
import { resource, uuid } from "../support/agent-commands.ts";
import { RecordingLogger } from "../support/recording-logger.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

it("an acknowledged result is sent again for as long as what its operation applied is not on disk", () => {
  const stateDir = temporaryFolder();
  const clock = new FakeClock();
  const logger = new RecordingLogger();
  const journal = new OperationJournal({ stateDir, clock, logger });
  const applied = new AppliedSet(stateDir);
  const sent: AgentMessage[] = [];
  const delivery = new ResultDelivery({
    journal,
    applied,
    clock,
    logger,
    send: (message) => sent.push(message) > 0,
  });
  const id = uuid(1);
  const result: OperationResult = {
    type: "result",
    operation_id: id,
    status: "succeeded",
    results: [],
    output: [],
    started_at: "2030-01-01T00:00:00.000Z",
    finished_at: "2030-01-01T00:00:01.000Z",
    duration_ms: 1000,
  };
  journal.accept({ operation_id: id, kind: "apply", not_after: "2030-01-01T01:00:00.000Z" });

  const inTheWay = join(stateDir, "applied.json");
  mkdirSync(join(inTheWay, "full"), { recursive: true });
  const changes = [{ resource: resource({ type: "file", path: "/a", content: "a" }), prior: null }];
  expect(() => applied.replace(changes)).toThrow();
  journal.finish(result);
  expect(() => delivery.acknowledge(id)).toThrow(expect.objectContaining({ code: "STORAGE_FAILED" }));
  delivery.begin();
  clock.advance(60_000);
  delivery.pause();
  expect(sent).toEqual([result, result]);
  // Whatever happens now, the next start finds the operation, and with it what it applied.
  expect(new OperationJournal({ stateDir, clock, logger }).finished()).toEqual([id]);

  rmSync(inTheWay, { recursive: true });
  delivery.acknowledge(id);
  expect(journal.finished()).toEqual([]);
  expect(new AppliedSet(stateDir).resources).toEqual(changes);
});
