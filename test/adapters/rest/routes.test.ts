import { initTRPC } from "@trpc/server";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { createOpenApiDocument } from "../../../adapters/rest/openapi.ts";
import { createRouteTable } from "../../../adapters/rest/routes.ts";
import type { ProcedureMeta } from "../../../adapters/trpc/trpc.ts";

const t = initTRPC.meta<ProcedureMeta>().create();
const route = (path: `/${string}`, input: z.ZodType) =>
  t.router({
    it: t.procedure
      .meta({ openapi: { method: "GET", path } })
      .input(input)
      .query(() => null),
  });

describe("a procedure that can't be a route is a mistake that shows at start", () => {
  test.each<[string, z.ZodType, string]>([
    ["a path parameter that the input lacks", z.strictObject({}), "no field id"],
    ["an input that is no object", z.string(), "must be an object"],
    ["an object in the query", z.strictObject({ id: z.string(), filter: z.object({}) }), "type object"],
    [
      "a list of lists in the query",
      z.strictObject({ id: z.string(), a: z.array(z.array(z.string())) }),
      "list of lists",
    ],
  ])("%s", (_name, input, message) => {
    const build = (): unknown => createRouteTable(route("/things/{id}", input));
    expect(build).toThrow("The procedure it can't be a REST route.");
    expect(build).toThrow(
      expect.objectContaining({
        cause: expect.objectContaining({ message: expect.stringContaining(message) }),
      }),
    );
  });
});

test("wrapped schemas are looked through", () => {
  const input = z.strictObject({
    id: z.int().readonly(),
    flag: z.boolean().nullable().default(false),
    mode: z.union([z.literal(1), z.literal(2)]).optional(),
    text: z.union([z.string(), z.number()]).optional(),
  });
  const match = createRouteTable(route("/things/{id}", input)).find("/things/1");
  const found = match?.methods.get("GET");
  expect(found?.pathParameters).toEqual([
    { name: "id", plan: { many: false, number: true, boolean: false } },
  ]);
  expect(Object.fromEntries(found?.query ?? [])).toEqual({
    flag: { many: false, number: false, boolean: true },
    mode: { many: false, number: true, boolean: false },
    text: { many: false, number: false, boolean: false },
  });
});

test("a status that depends on the output must be described", async () => {
  const status = (): 200 | 202 => 202;
  const described = (statuses: { statuses?: [200, 202] }) =>
    t.router({
      it: t.procedure
        .meta({ openapi: { method: "GET", path: "/it" }, rest: { status, ...statuses } })
        .output(z.string())
        .query(() => ""),
    });
  await expect(createOpenApiDocument(described({}))).rejects.toThrow("statuses");
  // Whoever makes a surface of it is told at once, not whoever asks for the description first.
  const refusal = expect.objectContaining({
    cause: expect.objectContaining({ message: expect.stringContaining("statuses") as string }) as Error,
  }) as Error;
  expect(() => createRouteTable(described({}))).toThrow(refusal);
  const { paths } = await createOpenApiDocument(described({ statuses: [200, 202] }));
  expect(paths).toHaveProperty(["/it", "get", "responses", "202"]);
});
