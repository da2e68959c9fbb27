/** A process that was held up, as by SIGSTOP, for longer than its lease lasts, and goes on before it hears what became of its terminals. */
import { expect, it } from "vitest";
import { systemCaller } from "fleetwright";
import { FakeClock } from "fleetwright/testing";
import { MemoryStorage } from "../../lib/storage/memory-storage.ts";
import type { CommittedChange, Storage } from "../../lib/storage/storage.ts";
import { recordingOf } from "../../lib/terminals/documents.ts";
import { SideClock } from "../support/side-clock.ts";
import { TestViewer } from "../support/terminal-viewer.ts";
import { terminalsElsewhere } from "../support/terminals-elsewhere.ts";

/** A terminal that somebody sees at its holder, after the holder was held up; `isDeaf` = it hears of no commit any more. */
async function heldUp() {
  const clock = new SideClock(new FakeClock());
  const storage = new MemoryStorage({ clock });
  const deaf = { isDeaf: false };
  const follow: Storage["follow"] = (listener) =>
    storage.follow((changes: readonly CommittedChange[]) => deaf.isDeaf || listener(changes));
  const handle = new Proxy<Storage>(storage, {
    get: (target, name) => {
      if (name === "follow") return follow;
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === "function" ? (value.bind(target) as unknown) : value;
    },
  });
  const scene = await terminalsElsewhere({ clock, storage: handle });
  const { orchestrator } = scene.test;
  const { caller } = await scene.test.signIn("Admin");
  const opening = { node_id: scene.nodeId, shell: "/bin/sh" };
  const { session_id, ticket } = await orchestrator.terminals.open(caller, opening);
  const viewer = new TestViewer((socket) => orchestrator.terminals.accept(socket, session_id));
  viewer.say({ type: "attach", ticket });
  await viewer.next("opened");
  viewer.type("echo on-$((1+1))\n");
  await viewer.shows(/on-2/);
  deaf.isDeaf = true;
  clock.aheadMs += 20_000;
  const recording = async () =>
    Buffer.from((await storage.readBlob(recordingOf(session_id), {})) ?? []).toString();
  return { scene, storage, session_id, viewer, recording };
}

it("adds nothing to a recording whose end another process has written, and shows nothing more", async () => {
  const { scene, storage, session_id, viewer, recording } = await heldUp();
  await using _ = scene;
  const lease = await storage.lease(`terminals of ${scene.there.name}`, 60_000);
  expect(lease).not.toBeNull();
  const stored = await storage.get("terminals", session_id);
  const value = { ...stored!.value, status: "interrupted", close_reason: "server_lost" };
  await storage.commit([{ kind: "put", collection: "terminals", key: session_id, value }]);
  const before = await recording();
  await lease!.release();
  viewer.type("echo late-$((1+1))\n");
  await viewer.next("closed");
  expect(await recording()).toBe(before);
  expect(viewer.text).not.toMatch(/late-2/);
});

it("goes on with one that nobody took from it", async () => {
  const { scene, session_id, viewer, recording } = await heldUp();
  await using _ = scene;
  viewer.type("echo late-$((1+1))\n");
  await viewer.shows(/late-2/);
  expect(await recording()).toMatch(/late-2/);
  const { status } = await scene.test.orchestrator.terminals.get(systemCaller, { session_id });
  expect(status).toBe("active");
});
