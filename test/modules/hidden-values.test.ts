/** Values of params in lists: shown where some module of the use declares them and none keeps them secret. */
import { expect, test } from "vitest";
import { systemCaller } from "fleetwright";
import { createTestOrchestrator, type TestOrchestrator } from "fleetwright/testing";
import { hidden } from "../../lib/state/result.ts";

const ways = ["secret", "plain", "absent"] as const;
type Way = (typeof ways)[number];

async function upload({ orchestrator }: TestOrchestrator, name: string, way: Way): Promise<void> {
  const param = `{ type: string, default: x${way === "secret" ? ", sensitive: true" : ""} }`;
  const content = `name: ${name}\nparams: { other: { type: string, default: ${way} }${way === "absent" ? "" : `, p: ${param}`} }\nresources: []\n`;
  await orchestrator.modules.upload(systemCaller, { content });
}

const shownWhere = (...found: Way[]): string =>
  found.includes("plain") && !found.includes("secret") ? "hunter" : hidden;

/** What a list shows of the params of an assignment. */
async function shown({ orchestrator }: TestOrchestrator, name: string): Promise<unknown> {
  const { items } = await orchestrator.assignments.list(systemCaller);
  return items.find((item) => item.name === name)?.params ?? {};
}

test.each(ways.flatMap((one) => ways.map((other) => [one, other] as const)))(
  "of two modules the first has it %s and the other %s",
  async (one, other) => {
    await using fleet = await createTestOrchestrator();
    await upload(fleet, "a", one);
    await upload(fleet, "b", other);
    const { assignments } = fleet.orchestrator;
    const has = { a: one !== "absent", b: other !== "absent" };
    const params = {
      other: "open",
      ...((has.a || has.b) && { p: "hunter" }),
      ...(has.a && { "a.p": "hunter" }),
      ...(has.b && { "b.p": "hunter" }),
    };
    await assignments.create(systemCaller, { name: "both", selector: "*", modules: ["a", "b"], params });
    expect(await shown(fleet, "both")).toEqual({
      other: "open",
      ...((has.a || has.b) && { p: shownWhere(one, other) }),
      ...(has.a && { "a.p": shownWhere(one) }),
      ...(has.b && { "b.p": shownWhere(other) }),
    });
  },
);

test.each(
  ways.flatMap((first) => ways.map((newest) => [first, newest] as const)).filter(([a, b]) => a !== b),
)("a first revision has it %s and the newest %s", async (first, newest) => {
  await using fleet = await createTestOrchestrator();
  await upload(fleet, "a", first);
  const { assignments } = fleet.orchestrator;
  const create = async (name: string, module: string, way: Way): Promise<void> => {
    const params = way === "absent" ? {} : { p: "hunter" };
    await assignments.create(systemCaller, { name, selector: "*", modules: [module], params });
  };
  await create("pinned", "a@1", first);
  await upload(fleet, "a", newest);
  await create("unpinned", "a", newest);
  expect(await shown(fleet, "pinned")).toEqual(first === "absent" ? {} : { p: shownWhere(first, newest) });
  expect(await shown(fleet, "unpinned")).toEqual(newest === "absent" ? {} : { p: shownWhere(newest) });
});
