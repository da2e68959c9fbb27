import { expect, it } from "vitest";
import { systemCaller } from "fleetwright";
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
      metadata: expect.objectContaining({ removed: 1 }),
    }),
  );
});
