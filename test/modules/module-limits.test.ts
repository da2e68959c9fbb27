/** How large a module and the values that it is given may be: the most is taken, one more is refused, and what is refused is told in words. */
import { describe, expect, it, onTestFinished } from "vitest";
import { checkModule, isOrchestratorError, systemCaller, type OrchestratorError } from "fleetwright";
import { createTestOrchestrator } from "fleetwright/testing";
import type { Json } from "../../lib/json.ts";

const bare = "name: web\nresources: []\n";
const listOf = (count: number, prefix: string): string =>
  `[${Array.from({ length: count }, (_, at) => `${prefix}${at}`).join(",")}]`;
const padded = (bytes: number, character: string): string => {
  const size = new TextEncoder().encode(character).length;
  return `${bare}#${character.repeat(Math.floor((bytes - bare.length - 1) / size)).padEnd(1, " ")}`;
};
const nested = (depth: number): string => "[".repeat(depth) + "]".repeat(depth);

describe("a module", () => {
  const limits: [what: string, most: number, textOf: (count: number) => string, fault: RegExp][] = [
    ["bytes, of one each", 524_288, (count) => padded(count, "x"), /^The text is larger than 512 KiB\.$/],
    ["characters of a description", 1024, (count) => `${bare}description: ${"x".repeat(count)}\n`, /1024/],
    ["selectors of what it supports", 100, (count) => `${bare}supports: ${listOf(count, "role=r")}\n`, /100/],
    ["requirements", 100, (count) => `${bare}requires: ${listOf(count, "m")}\n`, /100/],
    [
      "params",
      1000,
      (count) =>
        `${bare}params:\n${Array.from({ length: count }, (_, at) => `  p${at}: { type: string }\n`).join("")}`,
      /^The module has more than 1000 params\.$/,
    ],
    [
      "lists within each other",
      // The map of the module, that of its params and that of the param are around them.
      29,
      (count) => `${bare}params: { p: { type: array, default: ${nested(count)} } }\n`,
      /^The text is nested deeper than 32\.$/,
    ],
  ];

  it.each(limits)("has %s: at most %i", (_, most, textOf, fault) => {
    expect(checkModule(textOf(most))).toMatchObject({ name: "web", faults: [] });
    const { name, faults } = checkModule(textOf(most + 1));
    expect(name).toBeNull();
    expect(faults.map(({ message }) => message)).toEqual([expect.stringMatching(fault)]);
  });

  it("is measured in bytes, not in characters", () => {
    expect(checkModule(padded(524_288, "é")).faults).toEqual([]);
    expect(checkModule(`${padded(524_288, "é")}éé`).faults).toMatchObject([
      { message: "The text is larger than 512 KiB." },
    ]);
  });

  it.each([1, 2, 500, 501])(
    "with %i faults says how many there are, and tells 500 at most",
    async (count) => {
      await using test = await createTestOrchestrator();
      const content = bare + Array.from({ length: count }, (_, at) => `x${at}: 1\n`).join("");
      const error: unknown = await test.orchestrator.modules
        .upload(systemCaller, { content })
        .catch((thrown: unknown) => thrown);
      if (!isOrchestratorError(error, "MODULE_INVALID")) throw error;
      expect(error.message).toBe(`The module has ${count === 1 ? "a fault" : `${count} faults`}.`);
      expect(error.details).toEqual({ faults: count });
      expect(error.issues.map(({ line }) => line)).toEqual(
        Array.from({ length: Math.min(count, 500) }, (_, at) => at + 3),
      );
    },
  );
});

it.each([99, 100, 101])("of %i names in one text that can't be there 100 are told at most", (count) => {
  const names = Array.from({ length: count }, (_, at) => `{{ params.p${at} }}`).join("");
  const { faults } = checkModule(
    `name: web\nresources:\n  - { id: f, type: file, path: /f, content: "${names}" }\n`,
  );
  expect(faults.map(({ message }) => message)).toEqual(
    Array.from(
      { length: Math.min(count, 100) },
      (_, at) => `params.p${at} is not there: the module declares no such param.`,
    ),
  );
});

const declared = `name: web
params:
  text: { type: string, default: "" }
  word: { type: string, default: a, pattern: "[a-z]+" }
  one: { type: string, default: a, enum: [a, b] }
  whole: { type: integer, default: 5, minimum: 1, maximum: 9 }
  part: { type: number, default: 0.5, minimum: 0.25, maximum: 0.75 }
  flag: { type: boolean, default: true }
  list: { type: array, default: [] }
  map: { type: object, default: {} }
resources: []
`;

/** What comes of giving a value: nothing, or what is wrong with it. */
async function giving(): Promise<(params: Record<string, Json>) => Promise<string[]>> {
  const test = await createTestOrchestrator();
  onTestFinished(() => test[Symbol.asyncDispose]());
  const { modules, assignments } = test.orchestrator;
  await modules.upload(systemCaller, { content: declared });
  await assignments.create(systemCaller, { name: "web", selector: "*", modules: ["web"] });
  return async (params) =>
    assignments.update(systemCaller, { name: "web", params }).then(
      () => [],
      ({ code, issues }: OrchestratorError) =>
        issues.map(({ path, message }) => `${code} ${path.join(".")}: ${message}`),
    );
}

describe("a value of a param", () => {
  const values: [param: string, taken: Json[], refused: Json[], words: string][] = [
    ["text", ["", "x"], [1, true, null, []], "must be a text"],
    ["word", ["a", "abc"], ["", "A", "ab1"], "must match [a-z]+"],
    ["one", ["a", "b"], ["c", ""], 'must be one of "a", "b"'],
    ["whole", [1, 9], [1.5, "5", null, 2 ** 60], "must be a whole number"],
    ["whole", [1], [0, -1], "must be at least 1"],
    ["whole", [9], [10], "must be at most 9"],
    ["part", [0.25, 0.75], ["0.5", null, true], "must be a number"],
    ["part", [0.25], [0.2], "must be at least 0.25"],
    ["part", [0.75], [0.8], "must be at most 0.75"],
    ["flag", [true, false], ["true", 1, null], "must be true or false"],
    ["list", [[], [1, "a"]], [{}, "a", null], "must be a list"],
    ["map", [{}, { a: 1 }], [[], "a", null], "must be a map"],
  ];

  it.each(values)("of %s takes %j, and of %j says that it %s", async (param, taken, refused, words) => {
    const give = await giving();
    for (const key of [param, `web.${param}`]) {
      for (const value of taken) expect(await give({ [key]: value })).toEqual([]);
      for (const value of refused)
        expect(await give({ [key]: value })).toEqual([
          `VALIDATION_FAILED params.${key}: It ${words} (module web).`,
        ]);
    }
  });

  it("may be nested twenty deep, and all of them 64 KiB of JSON", async () => {
    const give = await giving();
    const deep = (depth: number): Json => JSON.parse(nested(depth)) as Json;
    expect(await give({ list: deep(20) })).toEqual([]);
    expect(await give({ list: deep(21) })).toEqual([
      "VALIDATION_FAILED params.list: must not be nested deeper than 20",
    ]);
    const long = (length: number): Json => "x".repeat(length - '{"text":""}'.length);
    expect(await give({ text: long(65_536) })).toEqual([]);
    expect(await give({ text: long(65_537) })).toEqual([
      "VALIDATION_FAILED params: must be at most 64 KiB of JSON",
    ]);
    const halves = { text: long(32_768), list: ["x".repeat(32_768 - ',"list":[""]'.length)] };
    expect(JSON.stringify(halves)).toHaveLength(65_536);
    expect(await give(halves)).toEqual([]);
    expect(await give({ ...halves, flag: true })).toEqual([
      "VALIDATION_FAILED params: must be at most 64 KiB of JSON",
    ]);
  });

  it("is refused where no module declares it, and one that is missing is asked for", async () => {
    const give = await giving();
    expect(await give({ txt: "a", "db.text": "a" })).toEqual([
      "VALIDATION_FAILED params.txt: No module here declares this param.",
      "VALIDATION_FAILED params.db.text: No module here declares this param.",
    ]);
    await using test = await createTestOrchestrator();
    const { modules, assignments } = test.orchestrator;
    await modules.upload(systemCaller, { content: declared.replace('string, default: ""', "string") });
    const create = (params: Record<string, Json>): Promise<unknown> =>
      assignments.create(systemCaller, { name: "web", selector: "*", modules: ["web"], params });
    await expect(create({})).rejects.toMatchObject({
      code: "VALIDATION_FAILED",
      issues: [{ path: ["params", "text"], message: "Module web needs it: it has no default." }],
    });
    await create({ text: "" });
  });
});
