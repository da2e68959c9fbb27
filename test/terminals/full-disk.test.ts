/** On a full disk whoever was promised a terminal gets to see it, and anybody can still close it: both are told of. */
import { expect, it } from "vitest";
import { FileStorage, isOrchestratorError, systemCaller } from "fleetwright";
import { recordingOf } from "../../lib/terminals/documents.ts";
import { LimitedDisk } from "../support/limited-disk.ts";
import { openTerminal } from "../support/open-terminal.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { waitFor } from "../support/wait-for.ts";

type Scene = Awaited<ReturnType<typeof openTerminal>>;

/** A terminal that shows its prompt, on a disk that has become full since. */
async function onFullDisk(before: (scene: Scene) => Promise<void> = async () => {}) {
  const disk = new LimitedDisk();
  const sizes = { segmentBytes: 65_536, minJournalBytes: 65_536, logSegmentBytes: 65_536 };
  const storage = new FileStorage({ folder: temporaryFolder(), disk, ...sizes });
  const scene = await openTerminal({}, { storage, terminalRetentionDays: 1 });
  const { session_id } = scene.opened;
  const read = () => scene.terminals.get(systemCaller, { session_id });
  await waitFor(async () => expect((await read()).bytes).toBeGreaterThan(0));
  await before(scene);
  disk.freeBytes = 0;
  await fill(() => scene.test.orchestrator.audit.setRetention(systemCaller, { retention_days: 9 }));
  // Down to the smallest write.
  const least = {
    kind: "put",
    collection: "terminal_tickets",
    key: "x",
    value: { expires_at: 1e15 },
  } as const;
  await fill(() => storage.commit([least]));
  return { ...scene, read };
}

/** Does something until there is no space for it. */
async function fill(write: () => Promise<unknown>): Promise<void> {
  try {
    for (;;) await write();
  } catch (error) {
    if (!isOrchestratorError(error, "STORAGE_FULL")) throw error;
  }
}

const told = async ({ test }: Awaited<ReturnType<typeof onFullDisk>>): Promise<string[]> =>
  (await test.orchestrator.audit.list(systemCaller, { limit: 10 })).items
    .map(({ event_type }) => event_type)
    .filter((type) => type.startsWith("terminal."));

it("a ticket is good once, and there is no other", async () => {
  const scene = await onFullDisk();
  await using _scene = scene;
  const { terminals, operator, opened } = scene;
  const another = terminals.ticket(operator.caller, { session_id: opened.session_id });
  await expect(another).rejects.toMatchObject({ code: "STORAGE_FULL" });
  const viewer = scene.attach(opened.ticket);
  expect(await viewer.next("opened")).toMatchObject({ types: true });
  const again = scene.attach(opened.ticket);
  expect(await again.next("refused")).toMatchObject({ code: "TICKET_INVALID" });
});

it("a terminal is closed by who opened it, and the audit log says who wanted it and how it ended", async () => {
  const scene = await onFullDisk();
  await using _scene = scene;
  const { session_id } = scene.opened;
  await scene.terminals.close(scene.operator.caller, { session_id });
  expect((await scene.read()).status).toBe("closed");
  expect(await told(scene)).toEqual(["terminal.closed", "terminal.closeRequested"]);
});

it("one that is old goes, with its recording: that makes space", async () => {
  const scene = await onFullDisk(async ({ test, terminals, operator, opened, agent }) => {
    await terminals.close(operator.caller, { session_id: opened.session_id });
    await agent.agent.stop();
    await test.clock.advance(23 * 3_600_000);
  });
  await using _scene = scene;
  const { clock, storage } = scene.test;
  const recording = recordingOf(scene.opened.session_id);
  expect(await storage.readBlob(recording)).not.toBeNull();
  // A round on a disk takes its time, and the next is an hour after its end.
  await waitFor(async () => {
    await clock.advance(3_600_000);
    expect(await storage.readBlob(recording)).toBeNull();
  }, 100);
  await expect(scene.read()).rejects.toMatchObject({ code: "NOT_FOUND" });
});
