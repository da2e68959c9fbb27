/** Changes of an assignment that wait for their turn while another is made under its name: they are of the one that was seen, and of no other. */
import { expect, it, onTestFinished } from "vitest";
import { systemCaller, type ChangeOptions } from "fleetwright";
import { createTestOrchestrator, type TestOrchestrator } from "fleetwright/testing";
import { nextTurn } from "../../lib/internal/next-turn.ts";
import { RacingStorage } from "../support/racing-storage.ts";

const name = "all";

interface Scene {
  test: TestOrchestrator;
  /** The same call, come in between a removal and a creation and their turns. */
  between: (call: () => Promise<unknown>) => Promise<unknown>;
}

async function scene(): Promise<Scene> {
  const storage = new RacingStorage((writes) =>
    writes.some((write) => write.kind === "put" && write.collection === "assignments"),
  );
  const test = await createTestOrchestrator({ storage });
  onTestFinished(() => test[Symbol.asyncDispose]());
  const { assignments, modules } = test.orchestrator;
  for (const module of ["web", "db"])
    await modules.upload(systemCaller, { content: `name: ${module}\nresources: []\n` });
  await assignments.create(systemCaller, { name, selector: "role=web", modules: ["web"] });
  const between: Scene["between"] = async (call) => {
    let outcome: Promise<unknown> = Promise.resolve();
    const others: Promise<unknown>[] = [];
    // While this one has its turn the others come in, each after the one before has read what there is.
    storage.before = async () => {
      others.push(assignments.remove(systemCaller, { name }));
      await nextTurn();
      others.push(assignments.create(systemCaller, { name, selector: "role=db", modules: ["db"] }));
      await nextTurn();
      outcome = call();
      outcome.catch(() => {});
      await nextTurn();
    };
    await assignments.create(systemCaller, { name: "other", selector: "role=mail", modules: ["web"] });
    await Promise.all(others);
    return outcome;
  };
  return { test, between };
}

const changes: Record<string, (test: TestOrchestrator, options?: ChangeOptions) => Promise<unknown>> = {
  update: ({ orchestrator }, options) =>
    orchestrator.assignments.update(systemCaller, { name, selector: "role=mail" }, options),
  remove: ({ orchestrator }, options) => orchestrator.assignments.remove(systemCaller, { name }, options),
};

it.each(Object.entries(changes))(
  "%s of the version that was seen is refused, and the new one stays as it was made",
  async (_, change) => {
    const { test, between } = await scene();
    await expect(between(() => change(test, { ifVersion: [1] }))).rejects.toMatchObject({
      code: "PRECONDITION_FAILED",
      details: { version: 2 },
    });
    expect(await test.orchestrator.assignments.get(systemCaller, { name })).toMatchObject({
      selector: "role=db",
      modules: ["db"],
      version: 2,
    });
  },
);

it("an update of whichever version brings nothing back of the one that went, and no version comes twice", async () => {
  const { test, between } = await scene();
  expect(await between(() => changes["update"]!(test))).toMatchObject({
    selector: "role=mail",
    modules: ["db"],
    version: 3,
  });
});

it("what comes under the name of the new one, removed, has none of its versions", async () => {
  const { test, between } = await scene();
  await between(() => changes["remove"]!(test));
  const { assignments } = test.orchestrator;
  const again = await assignments.create(systemCaller, { name, selector: "role=db", modules: ["db"] });
  expect(again.version).toBe(3);
});
