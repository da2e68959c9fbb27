import { Validator } from "@seriousme/openapi-schema-validator";
import { describe, expect, test } from "vitest";
import { permissionTable, type ErrorCode, type Permission } from "fleetwright";
import { createOpenApiDocument } from "../../adapters/rest/openapi.ts";
import { codesOf } from "../../adapters/rest/openapi/problems.ts";
import { restProcedures } from "../../adapters/rest/routes.ts";
import { appRouter } from "../../adapters/trpc/router.ts";
import type { ProcedureMeta } from "../../adapters/trpc/trpc.ts";
import { sourceFiles } from "../architecture/source-tree.ts";

interface Media {
  schema?: object;
}
interface Operation {
  operationId?: string;
  summary?: string;
  description?: string;
  tags?: string[];
  security?: object[];
  parameters?: { name: string; in: string; required?: boolean; schema: object }[];
  requestBody?: { content: Record<string, Media> };
  responses: Record<string, { headers?: object; content?: Record<string, Media> }>;
}

interface Refusal {
  description: string;
  content: Record<string, { schema: { allOf: object[] }; examples: Record<string, { value: object }> }>;
}

// As it is served: through JSON.
const document = JSON.parse(JSON.stringify(await createOpenApiDocument(appRouter))) as {
  openapi: string;
  info: object;
  servers: object[];
  tags: { name: string }[];
  paths: Record<string, Record<string, Operation>>;
  components: {
    schemas: Record<string, object>;
    responses: Record<string, Refusal>;
    securitySchemes: object;
  };
};
const operations = restProcedures(appRouter).map(([name, procedure]) => {
  const { method, path } = (procedure._def.meta as ProcedureMeta).openapi!;
  return [name as Permission, document.paths[path]![method.toLowerCase()]!] as const;
});
const find = (name: Permission): Operation => operations.find(([path]) => path === name)![1];

/** What answers with anything but JSON. */
const ofBytes: Readonly<Record<string, string>> = {
  "backups.create": "application/octet-stream",
  "terminals.transcript": "application/x-asciicast",
  "metrics.prometheus": "text/plain; version=0.0.4; charset=utf-8",
};

describe("the OpenAPI description of the product", () => {
  test("is valid OpenAPI 3.1", async () => {
    const result = await new Validator().validate(structuredClone(document));
    expect(result).toMatchObject({ valid: true });
  });

  test("has the title, version, licence and base path that the specification says", () => {
    expect(document).toMatchObject({
      openapi: "3.1.0",
      info: {
        title: "Fleetwright management API",
        version: "0.0.9",
        license: { name: "MIT OR Apache-2.0", identifier: "MIT OR Apache-2.0" },
      },
      servers: [{ url: "/api/v1" }],
      components: { securitySchemes: { session: { type: "http", scheme: "bearer" } } },
    });
  });

  test("has an operation for each procedure, and none beside", () => {
    const described = Object.values(document.paths).flatMap((path) => Object.keys(path));
    expect(described).toHaveLength(operations.length);
    expect(operations.map(([name]) => name).sort()).toEqual(Object.keys(permissionTable).sort());
  });

  test.each(operations)("%s has an id, a summary and a known tag", (name, operation) => {
    expect(operation.operationId).toMatch(/^[a-zA-Z]+[-.][a-zA-Z]+$/);
    expect(operation.operationId?.replace("-", ".")).toBe(name);
    expect(operation.summary).toMatch(/^[A-Z].{5,79}[^.]$/);
    expect(operation.tags).toHaveLength(1);
    expect(document.tags).toContainEqual({
      name: operation.tags![0],
      description: expect.stringMatching(/^[A-Z].{10,}[.?]$/),
    });
    expect(operation.description).toMatch(/^[A-Z].{10,}\.$/);
  });

  test.each(operations)("%s asks for a session unless it is open to anyone", (name, operation) => {
    if (permissionTable[name] === "anyone") expect(operation.security ?? []).toEqual([]);
    else expect(operation.security).toEqual([{ session: [] }]);
  });

  test.each(operations)("%s says what a success and a refusal look like", (name, { responses }) => {
    const streams = ["events.stream", "operations.watch"].includes(name);
    const plain = streams ? "text/event-stream" : "application/json";
    const media = ofBytes[name] ?? plain;
    const successes = Object.entries(responses).filter(([status]) => /^[23]/.test(status));
    expect(successes.length).toBeGreaterThan(0);
    for (const [status, { content, headers }] of successes) {
      if (status === "204" || status === "304") expect(content).toBeUndefined();
      else expect(content).toHaveProperty([media, "schema"]);
      if (status === "201" || status === "202") expect(headers).toHaveProperty("Location");
    }
    expect(responses["default"]?.content).toEqual({
      "application/problem+json": { schema: { $ref: "#/components/schemas/Problem" } },
    });
  });

  test.each(operations)(
    "%s says which codes each refusal may have, with an example of each",
    (name, { responses }) => {
      const codes = Object.entries(responses).flatMap(([status, response]) => {
        if (Number(status) < 400 || status === "default") return [];
        const { $ref = "" } = response as { $ref?: string };
        const { description, content } = document.components.responses[$ref.split("/").at(-1)!]!;
        const { examples } = content["application/problem+json"]!;
        for (const [code, { value }] of Object.entries(examples)) {
          expect(description).toContain(`\`${code}\`: `);
          expect(value).toMatchObject({
            status: Number(status),
            code,
            type: expect.stringMatching(/^\/problems\//),
          });
        }
        return Object.keys(examples);
      });
      expect(codes).toEqual(expect.arrayContaining(["VALIDATION_FAILED", "INTERNAL", "UNAVAILABLE"]));
      const needed = permissionTable[name];
      if (needed !== "anyone") expect(codes).toContain("UNAUTHENTICATED");
      expect(codes.includes("FORBIDDEN")).toBe(needed === "Operator" || needed === "Admin");
    },
  );

  test("every code that a verb promises to throw is told of where it is served", () => {
    const told = new Map(
      restProcedures(appRouter).map(([name, procedure]) => [name, codesOf(name, procedure)]),
    );
    const missing = promisedCodes().filter(([name, code]) => told.get(name)?.has(code) === false);
    expect(promisedCodes().length).toBeGreaterThan(40);
    expect(missing).toEqual([]);
  });

  test("a plan is refused for nothing that it only tells of, and an apply is", () => {
    const toldBy = new Map(restProcedures(appRouter).map((each) => [each[0], codesOf(...each)]));
    const ofApplies: ErrorCode[] = ["EMPTY_DESIRED_STATE", "MAINTENANCE_WINDOW", "TOO_MANY_REMOVALS"];
    for (const [name, are] of [
      ["state.plan", false],
      ["state.applyNow", true],
    ] as const)
      expect(ofApplies.map((code) => toldBy.get(name)?.has(code))).toEqual(ofApplies.map(() => are));
  });

  const statuses: [Permission, string[]][] = [
    ["status.get", ["200"]],
    ["auth.challenge", ["200"]],
    ["auth.signOut", ["204"]],
    ["operators.add", ["201"]],
    ["operators.remove", ["204"]],
    ["agents.remove", ["204"]],
    ["tags.remove", ["204"]],
    ["modules.upload", ["200", "201"]],
    ["modules.remove", ["204"]],
    ["assignments.create", ["201"]],
    ["assignments.remove", ["204"]],
    ["assignments.applyNow", ["200", "202"]],
    ["assignments.plan", ["200", "202"]],
    ["state.applyNow", ["200", "202"]],
    ["state.plan", ["200", "202"]],
    ["drift.check", ["200", "202"]],
    ["audit.prune", ["200"]],
    ["audit.setRetention", ["200"]],
  ];
  test.each(statuses)("%s succeeds with %j", (name, expected) => {
    const found = Object.keys(find(name).responses).filter((status) => /^[23]/.test(status));
    expect(found).toEqual(expected);
  });

  test("no schema says nothing", () => {
    expect(emptySchemas(document)).toEqual([]);
  });

  test("every schema, every field and every parameter is described, in words of `adapters/rest/reference` if not of its own", () => {
    const silent: string[] = [];
    for (const [name, schema] of Object.entries(document.components.schemas)) {
      const { description, properties = {} } = schema as Silent;
      if (description === undefined) silent.push(name);
      for (const [field, property] of Object.entries(properties)) {
        if (property.description === undefined && property.$ref === undefined)
          silent.push(`${name}.${field}`);
      }
    }
    for (const [name, { parameters = [] }] of operations) {
      for (const each of parameters as readonly (Silent & { name: string })[])
        if (each.description === undefined) silent.push(`${name}?${each.name}`);
    }
    expect(silent).toEqual([]);
    expect(Object.keys(document.components.schemas).filter((name) => !/^[A-Z]\w+$/.test(name))).toEqual([]);
  });

  test("every schema that is referred to is there, and every one that is there is used", () => {
    const text = JSON.stringify(document);
    const used = [...text.matchAll(/"#\/components\/schemas\/([^"]+)"/g)].map(([, name]) => name);
    expect([...new Set(used)].sort()).toEqual(Object.keys(document.components.schemas).sort());
  });

  test("every parameter of a path is described and required", () => {
    for (const [path, methods] of Object.entries(document.paths)) {
      const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
      for (const { parameters = [] } of Object.values(methods)) {
        const inPath = parameters.filter((parameter) => parameter.in === "path");
        expect(inPath.map(({ name }) => name).sort()).toEqual(names.sort());
        expect(inPath.every(({ required }) => required === true)).toBe(true);
      }
    }
  });
});

interface Silent {
  $ref?: string;
  description?: string;
  properties?: Record<string, Silent>;
}

/** What the docstrings of `lib` promise to throw, by the permission that the method asks for. */
function promisedCodes(): [Permission, ErrorCode][] {
  return sourceFiles("lib").flatMap(({ text }) =>
    text.split("\n  /**").flatMap((member) => {
      const [comment = "", code = ""] = member.split("*/");
      // What follows the first method that ends belongs to a comment of its own, or to none.
      const [body = ""] = code.split("\n  }\n");
      const [, permission] = /authorize\(caller, "([\w.]+)"/.exec(body) ?? [];
      const promises = comment.slice(comment.indexOf("@throws"));
      if (permission === undefined || !comment.includes("@throws")) return [];
      const codes = [...promises.matchAll(/`([A-Z][A-Z_]{3,})`/g)].map(([, found]) => found as ErrorCode);
      return codes.map((found): [Permission, ErrorCode] => [permission as Permission, found]);
    }),
  );
}

/** Where a schema is `{}`, which a generated client can only take for "anything". */
function emptySchemas(root: unknown): string[] {
  const found: string[] = [];
  const visit = (node: unknown, path: string[]): void => {
    if (typeof node !== "object" || node === null) return;
    const [key = "", parent = ""] = path.toReversed();
    const isSchema =
      ["schema", "items", "additionalProperties"].includes(key) ||
      ["properties", "schemas"].includes(parent) ||
      (/^\d+$/.test(key) && ["anyOf", "oneOf", "allOf"].includes(parent));
    if (isSchema && !Array.isArray(node) && Object.keys(node).length === 0) found.push(path.join("/"));
    for (const [name, child] of Object.entries(node)) visit(child, [...path, name]);
  };
  visit(root, []);
  return found;
}

test("its patterns are of the kind that validators of other languages read, too", () => {
  const patterns: string[] = [];
  JSON.stringify(document, (key, value: unknown) => {
    if (key === "pattern" && typeof value === "string") patterns.push(value);
    return value;
  });
  expect(patterns.length).toBeGreaterThan(5);
  // RE2 (Go) and Python have neither \p{C} nor, the first, a look around; \u is not of RE2.
  expect(patterns.filter((pattern) => /\\p\{|\(\?[=!<]|\\u/.test(pattern))).toEqual([]);
});
