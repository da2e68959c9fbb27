/** How the end of a terminal is written, where it can't be at first. */
import { expect, it, vi } from "vitest";
import { OrchestratorError, systemCaller } from "fleetwright";
import { createTestOrchestrator } from "fleetwright/testing";
import { MemoryStorage } from "../../lib/storage/memory-storage.ts";
import type { CommitOptions, CommitResult, Write } from "../../lib/storage/storage.ts";
import type { TerminalDocument } from "../../lib/terminals/documents.ts";
import { settleAll } from "../support/deferred.ts";
import { openTerminal } from "../support/open-terminal.ts";
import { terminalsElsewhere } from "../support/terminals-elsewhere.ts";
import { waitFor } from "../support/wait-for.ts";

/** A storage that takes no end of a terminal for a while. */
class Busy extends MemoryStorage {
  isBusy = true;
  refused = 0;

  override async commit(writes: readonly Write[], options?: CommitOptions): Promise<CommitResult> {
    const isEnd = writes.some(
      (write) =>
        write.kind === "put" && write.collection === "terminals" && write.value["closed_at"] !== undefined,
    );
    if (!this.isBusy || !isEnd) return super.commit(writes, options);
    this.refused += 1;
    throw new OrchestratorError("UNAVAILABLE");
  }
}

it("the end of a terminal is written as soon as it can be", async () => {
  const storage = new Busy();
  await using scene = await openTerminal({}, { storage });
  const { session_id } = scene.opened;
  await scene.terminals.close(systemCaller, { session_id });
  expect(storage.refused).toBeGreaterThan(0);
  storage.isBusy = false;
  await scene.test.clock.advance(1_000);
  await waitFor(async () =>
    expect(await scene.terminals.get(systemCaller, { session_id })).toMatchObject({
      status: "closed",
      close_reason: "closed",
      recording: "complete",
    }),
  );
});

it("a server starts though it can't write the end of what an earlier one held, and writes it later", async () => {
  await using scene = await openTerminal();
  const { session_id } = scene.opened;
  const { clock } = scene.test;
  const data = (scene.test.storage as MemoryStorage).restoredCopy();
  const storage = new Busy({ clock, data });
  await using next = await createTestOrchestrator({ storage, clock });
  const { terminals } = next.orchestrator;
  await waitFor(() => expect(storage.refused).toBeGreaterThan(0));
  await settleAll();
  expect(await terminals.get(systemCaller, { session_id })).toMatchObject({ status: "active" });
  storage.isBusy = false;
  await clock.advance(20_000);
  await waitFor(async () =>
    expect(await terminals.get(systemCaller, { session_id })).toMatchObject({
      status: "interrupted",
      close_reason: "server_lost",
    }),
  );
});

it("the end of one that its holder could not be asked to open is written as soon as it can be", async () => {
  const storage = new Busy();
  await using scene = await terminalsElsewhere({ storage });
  scene.services.terminals.holders.holderOf = () => "nobody";
  const opening = scene.terminals.open(systemCaller, { node_id: scene.nodeId });
  await expect(opening).rejects.toMatchObject({ code: "UNAVAILABLE" });
  expect(storage.refused).toBeGreaterThan(0);
  const list = async () => (await scene.terminals.list(systemCaller)).items;
  expect(await list()).toMatchObject([{ status: "active" }]);
  storage.isBusy = false;
  await scene.test.clock.advance(1_000);
  await waitFor(async () => expect(await list()).toMatchObject([{ status: "interrupted" }]));
});

it("one that its holder was never asked to open ends, where who was about to was killed", async () => {
  await using scene = await openTerminal();
  const { clock, storage, orchestrator } = scene.test;
  const { session_id } = scene.opened;
  const stored = await storage.get<TerminalDocument>("terminals", session_id);
  const unasked = { ...stored!.value, session_id: "00000000-0000-7000-8000-000000000000" };
  const write = { kind: "put", collection: "terminals", key: unasked.session_id } as const;
  await storage.commit([{ ...write, value: { ...unasked } }]);
  const statusOf = async (id: string) =>
    (await orchestrator.terminals.get(systemCaller, { session_id: id })).status;
  const viewer = scene.attach(scene.opened.ticket);
  await viewer.next("opened");
  for (let second = 0; second < 60; second += 1) await clock.advance(1_000);
  await waitFor(async () => expect(await statusOf(unasked.session_id)).toBe("interrupted"));
  expect(await statusOf(session_id)).toBe("active");
});

it("a terminal whose time is over ends though the transport fails, and so does nothing else", async () => {
  await using scene = await openTerminal({}, { terminalIdleSeconds: 60 });
  const { session_id } = scene.opened;
  const { clock, transport, loggedErrors } = scene.test;
  const viewer = scene.attach(scene.opened.ticket);
  await viewer.next("opened");
  const send = vi.spyOn(transport, "send").mockRejectedValue(new Error("broken"));
  await clock.advance(60_000);
  await settleAll();
  send.mockRestore();
  await clock.advance(10_000);
  await settleAll();
  expect(await scene.terminals.get(systemCaller, { session_id })).toMatchObject({
    status: "interrupted",
    close_reason: "idle",
  });
  expect(loggedErrors.map(({ message }) => message)).toContain("A terminal's agent was not reached.");
});

it.each(["stops", "drains"])(
  "a terminal of a server that %s is lost with the server, not with its agent",
  async (how) => {
    await using scene = await openTerminal();
    const { events, orchestrator, transport } = scene.test;
    if (how === "stops") await orchestrator.stop();
    else {
      orchestrator.beginDrain();
      await transport.disconnect(scene.agent.nodeId, "drained");
      await scene.ended();
    }
    expect(events.findLast(({ event_type }) => event_type === "terminal.interrupted")).toMatchObject({
      metadata: { session_id: scene.opened.session_id, reason: "server_lost" },
    });
  },
);

it("who is at a terminal of a server that is about to stop is told that, and not to sign in", async () => {
  await using scene = await openTerminal();
  const viewer = scene.attach(scene.opened.ticket);
  await viewer.next("opened");
  scene.test.orchestrator.letGo();
  expect(await viewer.next("refused")).toMatchObject({ code: "UNAVAILABLE" });
});
