import { describe, expect, it } from "vitest";
import { finish, WorkBudget } from "../../lib/internal/work.ts";
import {
  findMissing,
  findParamFaults,
  findValueFaults as valueFaults,
  paramSchema,
  paramValuesSchema,
  valuesFor,
  type Param,
} from "../../lib/module-format/params.ts";
import { cpuMs } from "../support/cpu-time.ts";

const findValueFaults = (...of: Parameters<typeof valueFaults>) => finish(valueFaults(...of));

describe("a param", () => {
  it.each<[Param, good: unknown[], bad: unknown[]]>([
    [{ type: "string" }, ["", "x"], [1, null, ["x"]]],
    [{ type: "string", pattern: "[a-z]+" }, ["ab"], ["AB", "", "ab1"]],
    [{ type: "string", enum: ["a", "b"] }, ["a"], ["c"]],
    [{ type: "integer" }, [0, -1], [1.5, "1", 2 ** 60]],
    [{ type: "integer", minimum: 1, maximum: 3 }, [1, 3], [0, 4]],
    [{ type: "number", maximum: 0.5 }, [0.5, -2], [0.6, "0"]],
    [{ type: "integer", enum: [80, 443] }, [80], [81]],
    [{ type: "boolean" }, [true, false], ["true", 0]],
    [{ type: "array" }, [[], [1, "a"]], [{}, "a"]],
    [{ type: "object" }, [{}, { a: 1 }], [[], null]],
  ])("%j takes what it says and nothing else", (param, good, bad) => {
    const faults = (value: unknown): unknown[] =>
      findValueFaults(new Map([["m", { params: { p: param }, secret: new Set<string>() }]]), {
        p: value as string,
      });
    expect(good.flatMap(faults)).toEqual([]);
    expect(bad.filter((value) => faults(value).length !== 1)).toEqual([]);
  });

  it.each([
    [{ type: "integer", default: "8080" }],
    [{ type: "integer", default: 0, minimum: 1 }],
    [{ type: "string", default: "x", enum: ["a"] }],
    [{ type: "string", pattern: "(a" }],
    [{ type: "boolean", minimum: 1 }],
    [{ type: "text" }],
    [{}],
  ])("%j is refused", (param) => {
    const read = paramSchema.safeParse(param);
    const faults = read.success ? finish(findParamFaults({ p: read.data }, new WorkBudget())) : [];
    expect([read.success, faults.length]).not.toEqual([true, 0]);
  });
});

describe("values of params", () => {
  const declared = (params: Record<string, Param>) => ({ params, secret: new Set<string>() });
  const modules = new Map([
    ["web", declared({ port: { type: "integer" }, name: { type: "string", default: "x" } })],
    ["db.main", declared({ port: { type: "integer" } })],
  ]);

  it("go to every module that declares them, and first to the one that they name", () => {
    const values = { port: 1, "web.port": 2 };
    expect(findValueFaults(modules, values)).toEqual([]);
    expect(valuesFor("web", modules.get("web")!.params, values)).toEqual({ port: 2 });
    expect(valuesFor("db.main", modules.get("db.main")!.params, values)).toEqual({ port: 1 });
    expect(valuesFor("db.main", modules.get("db.main")!.params, { "db.main.port": 3 })).toEqual({ port: 3 });
  });

  it("are refused where no module declares them, with their place", () => {
    const faults = findValueFaults(modules, { prot: 1, "web.prot": 1, "cache.port": 1, constructor: 1 });
    expect(faults.map(({ path }) => path)).toEqual([
      ["params", "prot"],
      ["params", "web.prot"],
      ["params", "cache.port"],
      ["params", "constructor"],
    ]);
  });

  it("are missing where there is no default", () => {
    expect(findMissing(modules, { "web.port": 1 })).toEqual([
      { path: ["params", "port"], message: expect.stringContaining("db.main") as string },
    ]);
  });

  it("are bounded in size and depth, before anything follows them down", () => {
    let deep: unknown = 1;
    for (let at = 0; at < 50_000; at += 1) deep = [deep];
    expect(paramValuesSchema.safeParse({ a: deep }).success).toBe(false);
    expect(paramValuesSchema.safeParse({ a: "x".repeat(70_000) }).success).toBe(false);
    expect(paramValuesSchema.safeParse({ a: { b: [1, "x"] } }).success).toBe(true);
  });

  it("of more than a megabyte are refused before each is looked at", () => {
    const entries = Array.from({ length: 60_000 }, (_, at) => [`p${at}`, [1, { a: "b" }]]);
    const values: unknown = Object.fromEntries(entries);
    const before = cpuMs();
    expect(paramValuesSchema.safeParse(values).error?.issues).toHaveLength(1);
    expect(cpuMs() - before).toBeLessThan(300);
  });
});
