import { expect, it } from "vitest";
import { systemCaller } from "fleetwright";
import { toTimestamp } from "../../lib/clock.ts";
import { leastIdAt } from "../../lib/ids.ts";
import type { JsonObject } from "../../lib/json.ts";
import { recordingOf } from "../../lib/terminals/documents.ts";
import { openTerminal } from "../support/open-terminal.ts";

it("a terminal goes after terminalRetentionDays, with its recording, and the log says so", async () => {
  await using scene = await openTerminal({}, { terminalRetentionDays: 3 });
  const { session_id, ticket } = scene.opened;
  const viewer = scene.attach(ticket);
  await viewer.next("opened");
  viewer.type("exit\n");
  await viewer.next("closed");
  const { clock, storage, events } = scene.test;
  await scene.agent.agent.stop();
  await clock.advance(2 * 86_400_000);
  expect(await storage.readBlob(`terminal-${session_id}`)).not.toBeNull();
  await clock.advance(2 * 86_400_000);
  expect(await storage.readBlob(`terminal-${session_id}`)).toBeNull();
  await expect(scene.terminals.get(systemCaller, { session_id })).rejects.toMatchObject({
    code: "NOT_FOUND",
  });
  expect(events).toContainEqual(
    expect.objectContaining({
      event_type: "terminal.pruned",
      summary: expect.stringMatching(/^A terminal that ended before \S+ was removed with its recording$/),
      metadata: expect.objectContaining({ removed: 1 }),
    }),
  );
});

it("a terminal that was open for longer than that is kept as long after its end as any other", async () => {
  await using scene = await openTerminal({}, { terminalRetentionDays: 3 });
  const { clock, storage } = scene.test;
  await scene.agent.agent.stop();
  await scene.ended();
  const { value } = (await storage.get<JsonObject>("terminals", scene.opened.session_id))!;
  const daysAgo = (days: number): number => clock.now() - days * 86_400_000;
  const old = leastIdAt(daysAgo(30));
  const closed_at = toTimestamp(daysAgo(2));
  await storage.appendBlob(recordingOf(old), Buffer.from("recorded"));
  await storage.commit([
    {
      kind: "put",
      collection: "terminals",
      key: old,
      value: { ...value, session_id: old, opened_at: toTimestamp(daysAgo(30)), closed_at },
    },
  ]);
  await clock.advance(7_200_000);
  expect(await storage.readBlob(recordingOf(old))).not.toBeNull();
  await clock.advance(86_400_000);
  expect(await storage.readBlob(recordingOf(old))).toBeNull();
});

it("a transcript that goes while it is read does not end as if it was whole", async () => {
  await using scene = await openTerminal();
  const { session_id, ticket } = scene.opened;
  const viewer = scene.attach(ticket);
  await viewer.next("opened");
  viewer.type("head -c 1000000 /dev/zero | tr '\\0' x; exit\n");
  await viewer.next("closed");
  const pieces = await scene.terminals.transcript(systemCaller, { session_id });
  const read = pieces[Symbol.asyncIterator]();
  expect((await read.next()).done).toBe(false);
  await scene.test.storage.commit([{ kind: "dropBlob", id: recordingOf(session_id) }]);
  const rest = async (): Promise<void> => {
    while ((await read.next()).done !== true);
  };
  await expect(rest()).rejects.toMatchObject({ code: "NOT_FOUND" });
});
