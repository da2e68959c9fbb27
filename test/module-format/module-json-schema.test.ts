import { readFileSync } from "node:fs";
import { Ajv2020 } from "ajv/dist/2020.js";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { z } from "zod";
import { checkModule, MemoryStorage, moduleJsonSchema, Orchestrator, SocketTransport } from "fleetwright";
import { createOrchestratorApp } from "fleetwright/h3";
import { resourceTypes, resourceTypesWith, type ResourceType } from "fleetwright/ports";
import { listFiles } from "../architecture/source-tree.ts";
import { noteType } from "../package/project/own-type.ts";

// Formats are said for people; the patterns beside them are what is checked.
const validate = new Ajv2020({ strict: false, validateFormats: false, allErrors: true }).compile(
  moduleJsonSchema(),
);

/** The first example of the documentation of each type, as a module. */
const examples = listFiles("docs/resources").flatMap((path): [string, string][] => {
  const [, yaml] = /```yaml\n([\s\S]*?)```/.exec(readFileSync(path, "utf8")) ?? [];
  if (yaml === undefined) return [];
  const text = yaml.includes("resources:") ? yaml : `resources:\n${yaml.replace(/^/gm, "  ")}`;
  return [[path, /^name:/m.test(text) ? text : `name: example\n${text}`]];
});

describe("the JSON Schema of modules", () => {
  it("is a schema that an independent validator takes, and knows every type", () => {
    const { $defs, $schema } = moduleJsonSchema() as { $defs: object; $schema: string };
    expect($schema).toBe("https://json-schema.org/draft/2020-12/schema");
    expect(Object.keys($defs)).toEqual(expect.arrayContaining([...resourceTypes.keys()]));
  });

  it("takes the module of the guide", () => {
    const [, yaml = ""] = /```yaml\n([\s\S]*?)```/.exec(readFileSync("docs/modules.md", "utf8")) ?? [];
    expect(checkModule(yaml).faults).toEqual([]);
    expect(validate(parse(yaml)), JSON.stringify(validate.errors)).toBe(true);
  });

  it.each(examples)("agrees with an upload about the example in %s", (_path, yaml) => {
    const isGood = checkModule(yaml).faults.length === 0;
    expect(validate(parse(yaml)), JSON.stringify(validate.errors)).toBe(isGood);
  });

  it.each([
    ["a template in place of a mode", { type: "file", path: "/a", mode: "{{ params.mode }}" }, true],
    ["a template in place of a boolean", { type: "file", path: "/a", backup: "{{ params.keep }}" }, true],
    ["a template in a list", { type: "script", id: "s", run: ["a", "{{ params.b }}"], creates: "/a" }, true],
    ["a template as a path", { id: "x", type: "file", path: "{{ params.path }}" }, true],
    ["a wrong mode", { type: "file", path: "/a", mode: "rw" }, false],
    ["an unknown property", { type: "file", path: "/a", colour: "red" }, false],
    ["an unknown type", { type: "fiel", path: "/a" }, false],
    ["no type", { path: "/a" }, false],
    ["no path", { type: "file" }, false],
    ["a wrong property of every resource", { type: "file", path: "/a", requires: "x" }, false],
    ["a number where a text must be", { type: "file", path: "/a", content: 1 }, false],
  ])("says of %s what it is", (_name, resource, isGood) => {
    expect(validate({ name: "m", resources: [resource] })).toBe(isGood);
  });

  it.each([
    [{ port: { type: "integer", default: 1, minimum: 0 } }, true],
    [{ port: { type: "integer", default: "1" } }, false],
    [{ port: { type: "text" } }, false],
    [{ port: { type: "boolean", pattern: "a" } }, false],
  ])("says of params %j what they are", (params, isGood) => {
    expect(validate({ name: "m", params, resources: [] })).toBe(isGood);
  });
});

describe("the JSON Schema of modules with types of one's own", () => {
  // Whatever they are called: a definition of the schema itself has a name that no type can have.
  const called = ["note", "template", "params"].map((type) => ({ ...(noteType as ResourceType), type }));
  const validateOwn = new Ajv2020({ strict: false, validateFormats: false }).compile(
    moduleJsonSchema(resourceTypesWith(called)),
  );

  it.each([
    [{ type: "note", path: "/a", text: "b" }, true],
    [{ type: "template", path: "/a", text: "b" }, true],
    [{ type: "params", path: "{{ params.path }}", text: "b" }, true],
    [{ type: "note", path: "a", text: "b" }, false],
    [{ type: "note", path: "/a", text: "b", colour: "red" }, false],
    [{ type: "file", path: "/a", mode: "{{ params.mode }}" }, true],
    [{ type: "file", path: "/a", mode: "rw" }, false],
  ])("says of %j what it is", (resource, isGood) => {
    expect(validateOwn({ name: "m", resources: [resource] })).toBe(isGood);
  });

  describe("whose values stand in lists, maps and definitions of their own", () => {
    const modes = z.array(z.string().regex(/^0[0-7]{3}$/)).optional();
    const ports = z.record(z.string(), z.int()).optional();
    /** Each has a definition of the same name. */
    const withNodes = (type: string, value: z.ZodType): ResourceType => {
      const node = z.strictObject({ value }).meta({ id: "Node" });
      const schema = z.strictObject({ path: z.string(), modes, ports, left: node, right: node.optional() });
      return { ...(noteType as ResourceType), type, schema };
    };
    const validateShaped = new Ajv2020({ strict: false, validateFormats: false }).compile(
      moduleJsonSchema(resourceTypesWith([withNodes("number", z.int()), withNodes("word", z.string())])),
    );
    const number = { type: "number", path: "/a", left: { value: 1 } };
    const word = { type: "word", path: "/a", left: { value: "b" } };

    it.each([
      [number, true],
      [word, true],
      [{ ...number, left: { value: "b" } }, false],
      [{ ...word, left: { value: 1 } }, false],
      [{ ...word, right: { value: 1 } }, false],
      [{ ...word, modes: ["0644", "{{ params.mode }}"] }, true],
      [{ ...word, modes: ["0644", "rw"] }, false],
      [{ ...word, modes: "{{ params.modes }}" }, true],
      [{ ...word, ports: { web: 80, ssh: "{{ params.port }}" } }, true],
      [{ ...word, ports: { web: 80, ssh: "22" } }, false],
      [{ ...word, ports: "{{ params.ports }}" }, true],
      [{ path: "/a", left: { value: 1 } }, false],
      [{ path: "/a", left: { value: "b" } }, false],
    ])("says of %j what it is", (resource, isGood) => {
      expect(validateShaped({ name: "m", resources: [resource] })).toBe(isGood);
    });
  });

  it("is made by a server when it is first asked for, and once", async () => {
    const transport = new SocketTransport();
    const looks: string[] = [];
    const looked = { ...(noteType as ResourceType), type: "looked_at" };
    Object.defineProperty(looked, "summary", { get: () => looks.push("looked") && "A note." });
    const orchestrator = new Orchestrator({ storage: new MemoryStorage(), transport, ownTypes: [looked] });
    looks.length = 0;
    const { fetch } = createOrchestratorApp({ orchestrator, transport });
    expect(looks).toEqual([]);
    for (let asked = 0; asked < 2; asked += 1)
      expect((await fetch(new Request("http://localhost/schemas/module.json"))).status).toBe(200);
    expect(looks).toEqual(["looked"]);
  });

  it("is what an orchestrator with these types serves", async () => {
    const transport = new SocketTransport();
    const orchestrator = new Orchestrator({ storage: new MemoryStorage(), transport, ownTypes: called });
    const { fetch } = createOrchestratorApp({ orchestrator, transport });
    const answer = await fetch(new Request("http://localhost/schemas/module.json"));
    expect(await answer.json()).toEqual(moduleJsonSchema(orchestrator.resourceTypes));
    expect([...orchestrator.resourceTypes.keys()]).toEqual([
      ...resourceTypes.keys(),
      "note",
      "template",
      "params",
    ]);
  });
});
