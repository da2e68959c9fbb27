import { Validator } from "@seriousme/openapi-schema-validator";
import { describe, expect, test } from "vitest";
import { createOpenApiDocument } from "../../../adapters/rest/openapi.ts";
import { toyRouter } from "../toy.ts";

const document = await createOpenApiDocument(toyRouter);
const operation = (path: string, method: string): Operation =>
  (document.paths?.[path] as Record<string, Operation> | undefined)?.[method] ?? { responses: {} };

interface Operation {
  operationId?: string;
  security?: object[];
  responses: Record<string, { content?: Record<string, unknown>; headers?: Record<string, unknown> }>;
}

describe("the OpenAPI description", () => {
  test("is valid OpenAPI 3.1", async () => {
    const result = await new Validator().validate(
      JSON.parse(JSON.stringify(document)) as Record<string, unknown>,
    );
    expect(result).toMatchObject({ valid: true });
    expect(document.openapi).toBe("3.1.0");
  });

  test("has the title, version and licence of the specification", () => {
    expect(document.info).toMatchObject({ version: "0.0.9", license: { name: "MIT OR Apache-2.0" } });
    expect(document.servers).toEqual([{ url: "/api/v1" }]);
  });

  test.each([
    ["/machines", "post", ["201"]],
    ["/machines/{name}", "get", ["200", "304"]],
    ["/machines/{name}", "delete", ["204"]],
    ["/machines/{name}/run", "post", ["200", "202"]],
    ["/machines/{name}/ping", "post", ["204"]],
  ])("%s %s has the successes that it answers with", (path, method, expected) => {
    const statuses = Object.keys(operation(path, method).responses).filter((status) => /^[23]/.test(status));
    expect(statuses).toEqual(expected);
  });

  test("204 has no content, 201 and 202 say where to look", () => {
    expect(operation("/machines/{name}", "delete").responses["204"]).not.toHaveProperty("content");
    expect(operation("/machines", "post").responses["201"]).toHaveProperty("headers.Location");
    expect(operation("/machines/{name}/run", "post").responses["200"]).not.toHaveProperty("headers.Location");
  });

  test("a procedure with a media type of its own shows it", () => {
    const { responses } = operation("/machines/{name}/transcript", "get");
    expect(Object.keys(responses["200"]?.content ?? {})).toEqual(["text/plain"]);
  });

  test("every refusal is a problem", () => {
    const all = Object.values(document.paths ?? {}).flatMap((path) =>
      Object.values(path as Record<string, Operation>),
    );
    expect(all.length).toBeGreaterThan(10);
    for (const { responses } of all) {
      const refusals = Object.entries(responses).filter(
        ([status]) => status === "default" || Number(status) >= 400,
      );
      expect(refusals.length).toBeGreaterThan(0);
      for (const [, response] of refusals) {
        const name = ((response as { $ref?: string }).$ref ?? "").split("/").at(-1) ?? "";
        const shared = document.components?.responses?.[name] as typeof response | undefined;
        expect(Object.keys((shared ?? response).content ?? {})).toEqual(["application/problem+json"]);
      }
    }
    const schemas = Object.keys(document.components?.schemas ?? {});
    expect(schemas).toContain("Problem");
    expect(schemas.filter((name) => name.startsWith("error."))).toEqual([]);
  });

  test("every operation has an id of its own", () => {
    const all = Object.values(document.paths ?? {}).flatMap((path) =>
      Object.values(path as Record<string, Operation>),
    );
    const ids = all.map(({ operationId }) => operationId);
    expect(new Set(ids).size).toBe(ids.length);
  });
});
