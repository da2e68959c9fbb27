/** Watching an operation from a process that does not hold its agent, where the way to the one that does is bad. */
import { describe, expect, it, vi } from "vitest";
import {
  nodeCrypto,
  OrchestratorError,
  silentLogger,
  systemCaller,
  type OperationWatchItem,
} from "fleetwright";
import { servicesOf } from "../../lib/orchestrator.ts";
import { settleAll } from "../support/deferred.ts";
import { connectScriptedAgent, emptyResult } from "../support/scripted-agent.ts";
import { watchElsewhere } from "../support/watch-ways.ts";

const motd = "name: motd\nresources:\n  - { type: file, path: /etc/motd, content: hi }\n";
const context = { crypto: nodeCrypto, logger: silentLogger };

/** An operation that runs, and somebody who watches it from elsewhere. */
async function setUp({ isSlow = false } = {}) {
  const scene = await watchElsewhere();
  const { test } = scene;
  const agent = await connectScriptedAgent(test);
  const { nodeId: node_id } = agent;
  await test.orchestrator.agents.setStatus(systemCaller, { node_id, status: "approved" });
  await test.orchestrator.modules.upload(systemCaller, { content: motd });
  const input = { node_id, modules: ["motd"], wait_seconds: 0 };
  const { operation_id } = await test.orchestrator.operations.apply(systemCaller, input);
  await agent.next("apply");
  const items: OperationWatchItem[] = [];
  const leaving = new AbortController();
  const reader = test.orchestrator.operations.watch(systemCaller, { operation_id }, leaving.signal);
  const readOn = async (): Promise<void> => {
    for await (const { item } of reader) items.push(item);
  };
  const first = await reader.next();
  if (first.done !== true) items.push(first.value.item);
  const over = isSlow ? null : readOn();
  return {
    ...scene,
    items,
    operation_id,
    leaving,
    over,
    readOn,
    say(text: string): void {
      const output = [
        { resource_id: "a", module: "motd", stream: "stdout" as const, text, truncated: false },
      ];
      agent.link.send({ type: "output", operation_id, output });
    },
    end(text: string): void {
      const output = [
        { resource_id: "a", module: "motd", stream: "stdout" as const, text, truncated: false },
      ];
      agent.link.send({ ...emptyResult(operation_id), output });
    },
    async [Symbol.asyncDispose]() {
      leaving.abort();
      await over;
      await agent[Symbol.asyncDispose]();
      await scene[Symbol.asyncDispose]();
    },
  };
}

/** What a watcher who adds and replaces as told has in the end. */
function textOf(items: readonly OperationWatchItem[]): string {
  let shown = "";
  for (const item of items)
    if (item.type === "output")
      for (const { text } of item.output) shown = item.replaces ? text : shown + text;
  return shown;
}

const kinds = (items: readonly OperationWatchItem[]): string[] => items.map(({ type }) => type);
const replacing = (items: readonly OperationWatchItem[]): OperationWatchItem[] =>
  items.filter((item) => item.type === "output" && item.replaces);

describe("whoever watches from another process", () => {
  it("is told what the agent says as it says it, also what is longer than a frame", async () => {
    await using scene = await setUp();
    scene.say("one");
    await settleAll();
    expect(textOf(scene.items)).toBe("one");
    scene.say("é".repeat(100_000));
    await settleAll();
    expect(textOf(scene.items)).toBe(`one${"é".repeat(100_000)}`);
    scene.end(`one${"é".repeat(100_000)}`);
    await scene.over;
    expect(kinds(scene.items)).toEqual(["operation", "output", "output", "ended"]);
  });

  it("goes on by the storage where the pipe is lost, and has all of it in the end", async () => {
    await using scene = await setUp();
    const debug = vi.spyOn(servicesOf(scene.test.orchestrator).operations.parts.context.logger, "debug");
    scene.say("one ");
    await settleAll();
    scene.cluster.cut(scene.here, scene.there);
    scene.say("two ");
    await settleAll();
    scene.end("one two three");
    await scene.test.clock.advance(10_000);
    await scene.over;
    expect(textOf(scene.items)).toBe("one two three");
    expect(scene.items.at(-1)).toMatchObject({ type: "ended", operation: { status: "succeeded" } });
    const said = "The progress of an operation is not told by its holder.";
    expect(debug).toHaveBeenCalledWith(said, { error: expect.any(OrchestratorError) as Error });
  });

  it("goes on after what it was told, and is told nothing twice, when the way is back", async () => {
    await using scene = await setUp();
    scene.say("one ");
    await settleAll();
    scene.cluster.cut(scene.here, scene.there);
    await settleAll();
    scene.say("two ");
    await scene.test.clock.advance(12_000);
    scene.cluster.mend(scene.here, scene.there);
    await scene.test.clock.advance(12_000);
    scene.say("three");
    await settleAll();
    expect(textOf(scene.items)).toBe("one two three");
    scene.end("one two three");
    await scene.over;
    expect(replacing(scene.items)).toEqual([]);
    expect(kinds(scene.items)).toEqual(["operation", "output", "output", "output", "ended"]);
  });

  it("is told at once where the holder is killed, and then by whoever holds the agent", async () => {
    await using scene = await setUp();
    scene.say("one ");
    await settleAll();
    scene.cluster.kill(scene.there);
    await scene.test.clock.advance(10_000);
    const next = scene.cluster.member();
    const { clock } = scene.test;
    const steps = [{ kind: "position", id: "next.0-0" }];
    await next.start(
      { ...context, clock },
      {
        calls: new Map(),
        pipes: new Map([
          [
            "operations.watch",
            async ({ body, pipe }) => {
              steps.push({ kind: "asked", id: String(body["after"]) });
              const output = [
                { resource_id: "a", module: "motd", stream: "stdout", text: "two", truncated: false },
              ];
              const told = { kind: "value", id: "next.0-1", value: { type: "output", output } };
              await pipe.write(new TextEncoder().encode(`${JSON.stringify(told)}\n`));
            },
          ],
        ]),
      },
    );
    scene.moveTo(next);
    await clock.advance(2_000);
    expect(textOf(scene.items)).toBe("one two");
    // What another process told last says nothing to this one at first, and its own ids do afterwards.
    await clock.advance(2_000);
    expect(steps.slice(1, 3).map(({ id }) => id)).toEqual(["start", "next.0-1"]);
    await next.stop();
  });

  it.each(["a holder that is too old to know the method", "no way to any other process"])(
    "follows the storage where there is %s",
    async (why) => {
      await using scene = await setUp();
      const { clock } = scene.test;
      if (why.startsWith("no way")) scene.cluster.isolate(scene.here);
      else {
        await scene.there.stop();
        await scene.there.start({ ...context, clock }, { calls: new Map(), pipes: new Map() });
        scene.moveTo(scene.there);
      }
      await clock.advance(7_000);
      expect(kinds(scene.items)).toEqual(["operation"]);
      scene.end("all of it");
      await scene.over;
      expect(kinds(scene.items)).toEqual(["operation", "output", "ended"]);
      expect(textOf(scene.items)).toBe("all of it");
    },
  );

  it("is told of the end where the holder does not hear of it", async () => {
    await using scene = await setUp();
    const { clock } = scene.test;
    const deaf = scene.cluster.member();
    const wait = ({ pipe }: { pipe: { signal: AbortSignal } }): Promise<void> =>
      new Promise((resolve) => pipe.signal.addEventListener("abort", () => resolve()));
    await deaf.start(
      { ...context, clock },
      { calls: new Map(), pipes: new Map([["operations.watch", wait]]) },
    );
    scene.moveTo(deaf);
    await scene.there.stop();
    await clock.advance(3_000);
    scene.end("all of it");
    await settleAll();
    expect(kinds(scene.items)).toEqual(["operation"]);
    await clock.advance(2_000);
    await scene.over;
    expect(kinds(scene.items)).toEqual(["operation", "output", "ended"]);
    await deaf.stop();
  });

  it("costs the holder no more than its feed where it does not read, and gets the whole in the end", async () => {
    await using scene = await setUp({ isSlow: true });
    const piece = "x".repeat(60_000);
    for (let count = 0; count < 100; count += 1) {
      scene.say(piece);
      await settleAll();
    }
    expect(scene.heldFeeds.of(scene.operation_id).bytes).toBeLessThanOrEqual(1_048_576);
    scene.end("the whole");
    await settleAll();
    await scene.readOn();
    // What the pipe had room for, and what the feed still had.
    expect(textOf(scene.items.filter((item) => !replacing([item]).length)).length).toBeLessThan(
      2 * 1_048_576,
    );
    expect(replacing(scene.items)).toHaveLength(1);
    expect(textOf(scene.items)).toBe("the whole");
  });

  it("is not read for any more when it leaves", async () => {
    await using scene = await setUp();
    await settleAll();
    const feed = scene.heldFeeds.of(scene.operation_id);
    expect(feed.isWatched).toBe(true);
    scene.leaving.abort();
    await scene.over;
    await settleAll();
    expect(feed.isWatched).toBe(false);
  });
});
