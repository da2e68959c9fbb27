/** Who reads a transcript is in the audit log before they see any of it; what can't be told is not shown. */
import { describe, expect, it } from "vitest";
import {
  FileStorage,
  isOrchestratorError,
  MemoryStorage,
  OrchestratorError,
  systemCaller,
} from "fleetwright";
import type { Caller, OrchestratorOptions } from "fleetwright";
import { deferred, settleAll } from "../support/deferred.ts";
import { LimitedDisk } from "../support/limited-disk.ts";
import { openTerminal, textOf } from "../support/open-terminal.ts";
import { serve } from "../support/server.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const type = "terminal.transcriptRead";

/** A terminal that has ended, with its recording. */
async function ended(options: Partial<OrchestratorOptions> = {}) {
  const scene = await openTerminal({}, options);
  const viewer = scene.attach(scene.opened.ticket);
  await viewer.next("opened");
  viewer.type("echo $((6*7)); exit\n");
  await viewer.next("closed");
  await scene.ended();
  return scene;
}

type Scene = Awaited<ReturnType<typeof ended>>;

const toldOf = async ({ test }: Scene) =>
  (await test.orchestrator.audit.list(systemCaller, { event_type: type })).items;

const read = ({ terminals, opened }: Scene, caller: Caller, form: object = {}) =>
  terminals.transcript(caller, { session_id: opened.session_id, ...form });

describe("a transcript that is read", () => {
  it("is in the audit log before its first byte: who, from where, whose, on which machine", async () => {
    await using scene = await ended();
    const { operator, opened, agent } = scene;
    const origin = { request_id: "r-1", source_address: "192.0.2.9" };
    const pieces = await read(scene, { ...operator.caller, origin });
    // Nothing of it was taken yet.
    expect(await toldOf(scene)).toMatchObject([
      {
        severity: "info",
        actor: { type: "operator", name: "ada" },
        target: { type: "terminal", id: opened.session_id },
        metadata: {
          session_id: opened.session_id,
          node_id: agent.nodeId,
          operator_id: operator.caller.operator_id,
          form: "asciicast",
        },
        ...origin,
      },
    ]);
    expect(await textOf(pieces)).toContain("42");
  });

  it("is a warning where it is somebody else's", async () => {
    await using scene = await ended();
    const { caller } = await scene.test.signIn("Admin", "root");
    await read(scene, caller, { format: "text" });
    expect(await toldOf(scene)).toMatchObject([
      { severity: "warning", actor: { name: "root" }, metadata: { form: "text" } },
    ]);
  });

  it("is told over REST with the address and the id of the request", async () => {
    await using scene = await ended();
    await using server = await serve(scene.test.orchestrator);
    const { token } = await scene.test.signIn("Admin", "root");
    const path = `/terminal/session/${scene.opened.session_id}/transcript`;
    expect(await server.rest("GET", path, { token })).toMatchObject({ status: 200 });
    expect(await toldOf(scene)).toMatchObject([
      { actor: { name: "root" }, source_address: "127.0.0.1", request_id: expect.any(String) as string },
    ]);
  });

  it("says over REST of which kind each form is, and of none where only its head is asked for", async () => {
    await using scene = await ended();
    await using server = await serve(scene.test.orchestrator);
    const { token } = await scene.test.signIn("Admin", "root");
    const path = `/terminal/session/${scene.opened.session_id}/transcript`;
    const kind = async (method: string, query: string) =>
      (await server.rest(method, path + query, { token })).headers["content-type"];
    expect(await kind("GET", "")).toBe("application/x-asciicast");
    expect(await kind("GET", "?format=asciicast")).toBe("application/x-asciicast");
    expect(await kind("GET", "?format=text")).toBe("text/plain; charset=utf-8");
    expect(await kind("HEAD", "?format=text")).toBeUndefined();
  });

  it("is told once in five minutes where the same is read again, and again for all that differs", async () => {
    await using scene = await ended();
    const { caller } = scene.operator;
    const count = async () => (await toldOf(scene)).length;
    for (const search of ["4", "42", "nothing"]) await read(scene, caller, { format: "text", search });
    expect(await count()).toBe(1);
    await read(scene, caller);
    await read(scene, caller, { format: "asciicast" });
    expect(await count()).toBe(2);
    await read(scene, { ...caller, origin: { source_address: "192.0.2.1" } });
    expect(await count()).toBe(3);
    await read(scene, (await scene.test.signIn("Admin", "root")).caller);
    expect(await count()).toBe(4);
    // Each session of an operator is told: one of them may be somebody else's.
    await read(scene, { ...caller, session_id: "another" });
    expect(await count()).toBe(5);
    // A clock that was set changes nothing.
    scene.test.clock.jump(86_400_000);
    await read(scene, caller);
    expect(await count()).toBe(5);
    await scene.test.clock.advance(300_000);
    await read(scene, caller);
    await read(scene, caller);
    expect(await count()).toBe(6);
  });

  it("is told once where a player asks for it many times at once, which all wait for that", async () => {
    class Held extends MemoryStorage {
      held: Promise<void> | null = null;
      fails = false;
      override async commit(...call: Parameters<MemoryStorage["commit"]>) {
        await this.held;
        if (this.fails) throw new OrchestratorError("STORAGE_FULL");
        return super.commit(...call);
      }
    }
    const storage = new Held();
    await using scene = await ended({ storage });
    const told = async () => (await toldOf(scene)).length;
    const readThrice = async (fails: boolean) => {
      const { promise, resolve } = deferred();
      [storage.held, storage.fails] = [promise, fails];
      let shown = 0;
      const reading = [1, 2, 3].map(() => read(scene, scene.operator.caller).then(() => (shown += 1)));
      const all = Promise.allSettled(reading);
      await settleAll();
      expect(shown).toBe(0);
      resolve();
      const ends = (await all).map(({ status }) => status);
      [storage.held, storage.fails] = [null, false];
      return ends;
    };
    expect(await readThrice(true)).toEqual(["rejected", "rejected", "rejected"]);
    expect(await told()).toBe(0);
    expect(await readThrice(false)).toEqual(["fulfilled", "fulfilled", "fulfilled"]);
    expect(await told()).toBe(1);
  });

  it("is remembered of the thousand readers that were told last", async () => {
    await using scene = await ended();
    const readAs = (from: number, to = from) =>
      Promise.all(
        Array.from({ length: to - from + 1 }, (_, n) =>
          read(scene, { ...scene.operator.caller, session_id: `s-${from + n}` }),
        ),
      );
    const told = () => scene.test.events.filter(({ event_type }) => event_type === type).length;
    await readAs(0);
    await readAs(1, 999);
    await readAs(0, 999);
    expect(told()).toBe(1_000);
    // The first is told anew, and so the last to be forgotten.
    await scene.test.clock.advance(300_000);
    await readAs(0);
    await readAs(1_000, 1_998);
    expect(told()).toBe(2_000);
    await readAs(0);
    expect(told()).toBe(2_000);
    await readAs(1_999);
    await readAs(0);
    expect(told()).toBe(2_002);
  });

  it("is not told where nothing is shown", async () => {
    await using scene = await ended();
    const { caller } = await scene.test.signIn("Operator", "bob");
    await expect(read(scene, caller)).rejects.toMatchObject({ code: "FORBIDDEN" });
    await expect(read(scene, scene.operator.caller, { search: "x" })).rejects.toMatchObject({
      code: "VALIDATION_FAILED",
    });
    expect(await toldOf(scene)).toEqual([]);
  });

  it("is refused on a full disk, each time, and shown when there is space", async () => {
    const disk = new LimitedDisk();
    const sizes = { segmentBytes: 65_536, minJournalBytes: 65_536, logSegmentBytes: 65_536 };
    const storage = new FileStorage({ folder: temporaryFolder(), disk, ...sizes });
    await using scene = await ended({ storage });
    const { test, operator } = scene;
    disk.freeBytes = 0;
    await fill(() => test.orchestrator.audit.setRetention(systemCaller, { retention_days: 9 }));
    for (let n = 0; n < 2; n += 1)
      await expect(read(scene, operator.caller)).rejects.toMatchObject({ code: "STORAGE_FULL" });
    expect(await toldOf(scene)).toEqual([]);
    disk.freeBytes = Infinity;
    expect(await textOf(await read(scene, operator.caller))).toContain("42");
    expect(await toldOf(scene)).toHaveLength(1);
  });
});

/** Does something until there is no space for it. */
async function fill(write: () => Promise<unknown>): Promise<void> {
  try {
    for (;;) await write();
  } catch (error) {
    if (!isOrchestratorError(error, "STORAGE_FULL")) throw error;
  }
}
