/** Schemas in the OpenAPI description: without what is noise to a reader, and open to what a newer server may answer. */
import { initTRPC } from "@trpc/server";
import { expect, test } from "vitest";
import { z } from "zod";
import { createOpenApiDocument } from "../../../adapters/rest/openapi.ts";
import type { ProcedureMeta } from "../../../adapters/trpc/trpc.ts";
import { addOperatorInput, setRoleInput } from "../../../lib/access/schemas.ts";

const t = initTRPC.meta<ProcedureMeta>().create();

interface Operation {
  requestBody: { content: { "application/json": { schema: object } } };
  responses: { "200": { content: { "application/json": { schema: object } } } };
}

/** How a procedure that takes one thing and answers with another shows the two. */
async function shown(taken: z.ZodObject, answered: z.ZodType) {
  const router = t.router({
    it: t.procedure
      .meta({ openapi: { method: "POST", path: "/it" } })
      .input(taken)
      .output(answered)
      .mutation(() => null as never),
  });
  const { paths, components } = await createOpenApiDocument(router);
  const { requestBody, responses } = (paths as Record<string, { post: Operation }>)["/it"]!.post;
  return {
    taken: requestBody.content["application/json"].schema,
    answered: responses["200"].content["application/json"].schema,
    schemas: components?.schemas as Record<string, object>,
  };
}

const one = z.strictObject({ n: z.int() });

test("an integer has the bounds that somebody gave it, and no others", async () => {
  const numbers = z.strictObject({ any: z.int(), few: z.int().min(-7).max(9), low: z.int().max(0) });
  expect(await shown(numbers, one)).toMatchObject({
    taken: {
      properties: {
        any: { type: "integer" },
        few: { type: "integer", minimum: -7, maximum: 9 },
        low: { type: "integer", maximum: 0 },
      },
    },
  });
  const { properties } = (await shown(numbers, one)).taken as { properties: Record<string, object> };
  expect(Object.keys(properties["any"]!)).toEqual(["type"]);
  expect(Object.keys(properties["low"]!).sort()).toEqual(["maximum", "type"]);
});

test("a format stands for its pattern, and a pattern without one stays", async () => {
  const texts = z.strictObject({ at: z.iso.datetime(), id: z.string().regex(/^[a-f]{4}$/) });
  const { taken } = await shown(texts, one);
  expect(taken).toMatchObject({
    properties: { at: { type: "string", format: "date-time" }, id: { pattern: "^[a-f]{4}$" } },
  });
  expect(taken).not.toHaveProperty("properties.at.pattern");
});

test("a pattern is one that validators of other languages read", async () => {
  const key = z.string().regex(/^(?!__proto__$)[^\p{C}/]+[^\p{C}]$/u);
  expect((await shown(z.strictObject({ key }), one)).taken).toMatchObject({
    properties: { key: { pattern: "^[^\\x00-\\x1f\\x7f-\\x9f/]+[^\\x00-\\x1f\\x7f-\\x9f]$" } },
  });
});

test("an input takes nothing beside its fields, an answer may have more one day, however deep", async () => {
  const outer = z.strictObject({ inner: one, list: z.array(one) });
  const { taken, answered } = await shown(outer, outer);
  expect(taken).toMatchObject({
    additionalProperties: false,
    properties: {
      inner: { additionalProperties: false },
      list: { items: { additionalProperties: false } },
    },
  });
  expect(answered).toHaveProperty("properties.inner.properties.n");
  expect(JSON.stringify(answered)).not.toContain("additionalProperties");
});

test("what an answer has for each of some names is shown as fields, what it has for any name is not", async () => {
  const counts = z.record(z.enum(["failed", "done"]), z.int());
  const labels = z.record(z.string(), z.string());
  const { answered } = await shown(one, z.strictObject({ counts, labels }));
  const { properties } = answered as { properties: Record<string, object> };
  expect(properties["counts"]).toEqual({
    type: "object",
    properties: { failed: { type: "integer" }, done: { type: "integer" } },
    required: ["failed", "done"],
  });
  expect(properties["labels"]).toMatchObject({ additionalProperties: { type: "string" } });
});

test("a default or an allowed value that looks like a schema stays what it is", async () => {
  const settings = z.record(z.string(), z.json()).default({ additionalProperties: false });
  const { answered } = await shown(one, z.strictObject({ settings }));
  expect(answered).toMatchObject({ properties: { settings: { default: { additionalProperties: false } } } });
});

test("a schema with a name stands once, and what contains itself says so in words", async () => {
  const tree: z.ZodType = z
    .strictObject({
      name: z.string(),
      get children() {
        return z.array(tree);
      },
    })
    .meta({ id: "Tree" });
  const { taken, answered, schemas } = await shown(z.strictObject({ tree }), z.strictObject({ tree }));
  expect(Object.keys(schemas).filter((name) => name !== "Problem")).toEqual(["Tree"]);
  expect(schemas["Tree"]).toMatchObject({
    properties: { children: { items: { description: "The same again." } } },
  });
  const reference = { $ref: "#/components/schemas/Tree" };
  expect([taken, answered]).toMatchObject([
    { properties: { tree: reference } },
    { properties: { tree: reference } },
  ]);
});

test("fields and schemas without a text get that of the reference, others keep their own", async () => {
  const agent = z
    .strictObject({ node_id: z.string(), hostname: z.string().describe("My own words.") })
    .meta({ id: "Agent" });
  const { schemas } = await shown(one, z.strictObject({ agent }));
  expect(schemas["Agent"]).toMatchObject({
    description: expect.stringMatching(/./) as string,
    properties: {
      node_id: { description: expect.stringMatching(/./) as string },
      hostname: { description: "My own words." },
    },
  });
});

test("an input that is taken without regard to case is described by the names that it knows", async () => {
  const { properties } = (await shown(addOperatorInput, one)).taken as { properties: Record<string, object> };
  const change = (await shown(setRoleInput, one)).taken as { properties: Record<string, object> };
  const role = { type: "string", enum: ["Viewer", "Operator", "Admin"] };
  expect([properties["role"], change.properties["role"]]).toMatchObject([role, role]);
});
