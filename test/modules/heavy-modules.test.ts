/**
 * Modules that cost as much as they may: whoever else calls meanwhile is served, and a read of one computes nothing.
 *
 * A module of 512 KiB with patterns was reported to hold the whole server up for 37 s while it was uploaded, and again for 31 s when
 * somebody read it, because only its size was bounded and all was done in one go.
 */
import { describe, expect, it } from "vitest";
import { isOrchestratorError, MemoryStorage, systemCaller } from "fleetwright";
import { createTestOrchestrator, FakeClock } from "fleetwright/testing";
import { nextTurn } from "../../lib/internal/next-turn.ts";
import { MemoryData } from "../../lib/storage/memory-storage.ts";
import { cpuMs } from "../support/cpu-time.ts";
import { refusedModules, takenModules } from "../support/heavy-modules.ts";

/** The longest time for which nobody else was served while something was done, milliseconds of the processor. */
async function stallOf(work: () => Promise<unknown>): Promise<number> {
  let [longest, isDone] = [0, false];
  const done = work().finally(() => (isDone = true));
  done.catch(() => {});
  while (!isDone) {
    const before = cpuMs();
    await nextTurn();
    longest = Math.max(longest, cpuMs() - before);
  }
  await done;
  return longest;
}

/** A slice takes some milliseconds, and many times that on a machine that has other things to do. */
const longestStallMs = 400;

/** The least of three: what stalls besides the work, such as a collection of all garbage, doesn't come each time. */
async function leastStallOf(work: () => Promise<unknown>): Promise<number> {
  let least = Infinity;
  for (let time = 0; time < 3 && least >= longestStallMs; time += 1)
    least = Math.min(least, await stallOf(work));
  return least;
}

describe("whoever else calls is served", () => {
  it.each(refusedModules)("while %s are refused", async (_name, content, fault) => {
    await using test = await createTestOrchestrator();
    let message = "";
    const stall = await leastStallOf(async () => {
      const error: unknown = await test.orchestrator.modules
        .upload(systemCaller, { content: content.slice(0, 524_288) })
        .catch((thrown: unknown) => thrown);
      if (!isOrchestratorError(error, "MODULE_INVALID")) throw error;
      message = error.issues.map((issue) => issue.message).join("\n");
    });
    expect(message).toMatch(fault);
    expect(stall).toBeLessThan(longestStallMs);
  });

  it.each(takenModules)("while %s are taken in", async (_name, content) => {
    await using test = await createTestOrchestrator();
    const { modules } = test.orchestrator;
    expect(await stallOf(() => modules.upload(systemCaller, { content }))).toBeLessThan(longestStallMs);
    await modules.upload(systemCaller, { content: content.replace("name: heavy", "name: heavy2") });
    const assignment = { name: "both", selector: "*", modules: ["heavy", "heavy2"] };
    const create = () => test.orchestrator.assignments.create(systemCaller, assignment);
    expect(await stallOf(create)).toBeLessThan(longestStallMs);
  });
});

describe("a read", () => {
  it.each(takenModules)("of %s parses nothing, also after a restart", async (_name, content) => {
    const data = new MemoryData();
    const clock = new FakeClock();
    const begin = () => createTestOrchestrator({ clock, storage: new MemoryStorage({ clock, data }) });
    {
      await using first = await begin();
      await first.orchestrator.modules.upload(systemCaller, { content });
    }
    await using second = await begin();
    const before = cpuMs();
    const detail = await second.orchestrator.modules.get(systemCaller, { name: "heavy" });
    expect(cpuMs() - before).toBeLessThan(100);
    expect(detail.content).toBe(content);
    expect(Object.keys(detail.params).length + detail.resources.length).toBeGreaterThan(800);
  });
});
