/** What the OpenAPI description says of one operation follows from its procedure alone: what it takes, what it answers and what it refuses with. */
import { initTRPC } from "@trpc/server";
import type { AnyRouter } from "@trpc/server";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { createOpenApiDocument, type OpenApiOptions } from "../../../adapters/rest/openapi.ts";
import type { ProcedureMeta } from "../../../adapters/trpc/trpc.ts";
import { toyRouter } from "../toy.ts";

interface Response {
  $ref?: string;
  description?: string;
  headers?: Record<string, object>;
  content?: Record<string, { schema?: object; examples?: Record<string, object> }>;
}
interface Operation {
  summary?: string;
  security?: object[];
  parameters?: { in: string; name: string; description?: string }[];
  requestBody?: { required?: boolean; content: Record<string, { schema: object }> };
  responses: Record<string, Response>;
}

// Of every answer.
const common = ["Cache-Control", "Strict-Transport-Security", "X-Content-Type-Options", "X-Request-Id"];

// Made in each test, not once for all: a description is made from nothing but the router.
async function describeRouter(router: AnyRouter, options?: OpenApiOptions) {
  const document = await createOpenApiDocument(router, options);
  const responses = (document.components?.responses ?? {}) as Record<string, Response>;
  const paths = document.paths as Record<string, Record<string, Operation>>;
  const operation = (method: string, path: string): Operation => paths[path]![method]!;
  return { document, responses, operation };
}

/** What a caller may send beside the path, and what comes back; of the headers those that not every answer has. */
function summaryOf({ parameters = [], requestBody, responses }: Operation) {
  const successes = Object.entries(responses).filter(([status]) => /^[23]/.test(status));
  const answers = successes.map(([status, { headers = {}, content = {} }]) => {
    expect(Object.keys(headers)).toEqual(expect.arrayContaining(common));
    const own = Object.keys(headers).filter((name) => !common.includes(name));
    return [status, ...own, ...Object.keys(content)].join(" ");
  });
  return {
    takes: parameters.map(({ in: place, name }) => `${place} ${name}`),
    body: requestBody === undefined ? null : requestBody.required,
    answers,
    refusals: Object.entries(responses)
      .filter(([status]) => /^[45]/.test(status))
      .map(([status, { $ref = "" }]) => `${status} ${$ref.replace("#/components/responses/", "")}`),
  };
}

const always = ["400 ValidationFailed", "401 Unauthenticated", "403 OriginRefused"];
const ofReads = ["429 RateLimited", "500 Internal", "503 MachinesList503"];
const ofChanges = (conflict = "IdempotencyAnswerUnknown"): string[] => [
  `409 ${conflict}`,
  "412 PreconditionFailed",
];
const ofBodies = ["413 PayloadTooLarge", "415 UnsupportedMediaType"];
const atLast = ["422 IdempotencyKeyReused", "429 RateLimited", "500 Internal", "503 MachinesCreate503"];
const json = "application/json";
const notFound = "404 NotFound";

describe("an operation is described by what its procedure takes, answers and refuses", () => {
  test.each<[string, ReturnType<typeof summaryOf>]>([
    [
      "get /machines/latest",
      { takes: [], body: null, answers: [`200 ${json}`], refusals: [...always, ...ofReads] },
    ],
    [
      "get /machines/{name}",
      {
        takes: ["path name", "header If-None-Match"],
        body: null,
        answers: [`200 ETag ${json}`, "304 ETag"],
        refusals: [...always, notFound, ...ofReads],
      },
    ],
    [
      "post /machines",
      {
        takes: ["header Idempotency-Key"],
        body: true,
        answers: [`201 Location ${json}`],
        refusals: [...always, ...ofChanges(), ...ofBodies, ...atLast],
      },
    ],
    [
      "put /machines/{name}",
      {
        takes: ["path name", "header Idempotency-Key", "header If-Match"],
        body: true,
        answers: [`200 ${json}`],
        refusals: [...always, notFound, ...ofChanges("MachinesUpdate409"), ...ofBodies, ...atLast],
      },
    ],
    [
      "delete /machines/{name}",
      {
        takes: ["path name", "query force", "header Idempotency-Key"],
        body: null,
        answers: ["204"],
        refusals: [...always, notFound, ...ofChanges(), ...atLast],
      },
    ],
    [
      "post /machines/{name}/run",
      {
        takes: ["path name", "header Idempotency-Key"],
        body: false,
        answers: [`200 ${json}`, `202 Location ${json}`],
        refusals: [...always, notFound, ...ofChanges(), ...ofBodies, ...atLast],
      },
    ],
    [
      "get /machines/{name}/transcript",
      {
        takes: ["path name"],
        body: null,
        answers: ["200 text/plain"],
        refusals: [...always, notFound, ...ofReads],
      },
    ],
  ])("%s", async (name, expected) => {
    const [method = "", path = ""] = name.split(" ");
    const { operation } = await describeRouter(toyRouter);
    expect(summaryOf(operation(method, path))).toEqual(expected);
    expect(operation(method, path).security).toEqual([{ session: [] }]);
  });
});

test("a refusal has the texts, an example and the headers of each of its codes", async () => {
  const { responses } = await describeRouter(toyRouter);
  const media = "application/problem+json";
  const { description, headers, content } = responses["MachinesUpdate409"]!;
  expect(description).toMatch(/^`IDEMPOTENCY_ANSWER_UNKNOWN`: .+\.\n\n`REVISION_CONFLICT`: .+\.$/);
  expect(Object.keys(headers!)).toEqual(common);
  expect(content).toEqual({
    [media]: {
      schema: {
        allOf: [
          { $ref: "#/components/schemas/Problem" },
          {
            type: "object",
            properties: {
              status: { type: "integer", const: 409 },
              code: { type: "string", enum: ["IDEMPOTENCY_ANSWER_UNKNOWN", "REVISION_CONFLICT"] },
            },
          },
        ],
      },
      examples: {
        IDEMPOTENCY_ANSWER_UNKNOWN: {
          summary: expect.stringMatching(/./) as string,
          value: expect.objectContaining({ status: 409, code: "IDEMPOTENCY_ANSWER_UNKNOWN" }) as object,
        },
        REVISION_CONFLICT: {
          summary: expect.stringMatching(/./) as string,
          value: expect.objectContaining({ status: 409, code: "REVISION_CONFLICT" }) as object,
        },
      },
    },
  });
  const own = (name: string): string[] =>
    Object.keys(responses[name]?.headers ?? {}).filter((header) => !common.includes(header));
  expect([own("Unauthenticated"), own("RateLimited"), own("MachinesCreate503"), own("NotFound")]).toEqual([
    ["WWW-Authenticate"],
    ["Retry-After"],
    ["Retry-After"],
    [],
  ]);
});

const t = initTRPC.meta<ProcedureMeta>().create();
const page = z.strictObject({ items: z.array(z.string()), next_cursor: z.string().nullable() });
const item = z.strictObject({ text: z.string() });
const router = t.router({
  things: t.router({
    list: t.procedure
      .meta({ openapi: { method: "GET", path: "/things", protect: false, tags: ["Things"] } })
      .input(z.strictObject({ cursor: z.string().optional(), selector: z.string().optional() }))
      .output(page)
      .query(() => ({ items: [], next_cursor: null })),
    watch: t.procedure
      .meta({
        openapi: { method: "GET", path: "/things/{id}/watch", tags: ["Agents"] },
        rest: { streams: item },
      })
      .input(z.strictObject({ id: z.string(), lastEventId: z.string().optional() }))
      .subscription(async function* () {}),
    start: t.procedure
      .meta({
        openapi: { method: "POST", path: "/things/{id}/start", tags: ["Things"] },
        rest: {
          version: ({ revision }: { revision: number }) => revision,
          problems: ["AGENT_OFFLINE"],
        },
      })
      .input(z.strictObject({ id: z.string(), wait_seconds: z.number().optional() }))
      .output(z.strictObject({ revision: z.number() }))
      .mutation(() => ({ revision: 1 })),
    open: t.procedure
      .meta({ openapi: { method: "POST", path: "/things", protect: false, tags: ["Things"] } })
      .input(z.strictObject({ name: z.string() }))
      .output(z.undefined())
      .mutation(() => undefined),
    hidden: t.procedure
      .meta({ openapi: { method: "GET", path: "/hidden", enabled: false } })
      .output(z.string())
      .query(() => ""),
  }),
});

describe("what only some operations have is told of those", () => {
  test("what is open to anyone asks for no session, and is not refused for want of one", async () => {
    const { operation } = await describeRouter(router);
    expect(operation("get", "/things").security).toEqual([]);
    expect(summaryOf(operation("get", "/things"))).toEqual({
      takes: ["query cursor", "query selector"],
      body: null,
      answers: [`200 ${json}`],
      refusals: ["400 ThingsList400", "403 OriginRefused", "500 Internal", "503 ThingsList503"],
    });
    expect(summaryOf(operation("post", "/things"))).toMatchObject({
      takes: [],
      answers: ["204"],
      refusals: expect.not.arrayContaining(["401 Unauthenticated", "422 IdempotencyKeyReused"]) as string[],
    });
  });

  test("a list that is read by pages and selected from is refused for either", async () => {
    const { responses } = await describeRouter(router);
    expect(Object.keys(responses["ThingsList400"]!.content!["application/problem+json"]!.examples!)).toEqual([
      "CURSOR_INVALID",
      "SELECTOR_INVALID",
      "VALIDATION_FAILED",
    ]);
  });

  test("a stream is told item by item, and goes on after the last that was read", async () => {
    const { operation } = await describeRouter(router);
    const watch = operation("get", "/things/{id}/watch");
    expect(summaryOf(watch)).toMatchObject({
      takes: ["path id", "header Last-Event-ID"],
      answers: ["200 X-Accel-Buffering text/event-stream"],
    });
    expect(watch.responses["200"]?.content?.["text/event-stream"]?.schema).toMatchObject({
      type: "object",
      properties: { text: { type: "string" } },
    });
  });

  test("a call that may be waited for takes a preference and says what became of it; its version comes along", async () => {
    const { operation, responses } = await describeRouter(router);
    const { takes, body, answers, refusals } = summaryOf(operation("post", "/things/{id}/start"));
    expect(takes).toEqual(["path id", "header Idempotency-Key", "header Prefer"]);
    expect([body, answers]).toEqual([false, [`200 ETag Preference-Applied ${json}`]]);
    expect(refusals).toContain("409 ThingsStart409");
    expect(responses["ThingsStart409"]?.description).toContain("`AGENT_OFFLINE`: ");
  });

  test("what has no route is not described, and a tag is listed once, with its text where it has one", async () => {
    const { document } = await describeRouter(router);
    expect(Object.keys(document.paths ?? {}).sort()).toEqual([
      "/things",
      "/things/{id}/start",
      "/things/{id}/watch",
    ]);
    expect(document.tags).toEqual([
      { name: "Things" },
      { name: "Agents", description: expect.stringMatching(/./) as string },
    ]);
  });
});

test("a surface of one's own has its own title, text, version and base path", async () => {
  const options = { title: "Mine", description: "All of it.", version: "7.0.0", basePath: "/mine" };
  const { document } = await describeRouter(router, options);
  expect(document).toMatchObject({
    info: { title: "Mine", description: "All of it.", version: "7.0.0" },
    servers: [{ url: "/mine" }],
  });
  const { document: usual } = await describeRouter(router);
  expect(usual).toMatchObject({
    info: { title: "Fleetwright management API", version: "0.0.9" },
    servers: [{ url: "/api/v1" }],
  });
});

describe("a body of which fields are checked against each other", () => {
  const checked = z
    .strictObject({ id: z.string(), set: z.string().optional(), remove: z.string().optional() })
    .refine(({ set, remove }) => set !== undefined || remove !== undefined, "names nothing");
  const bodyOf = async (path: `/${string}`, input: z.ZodType) => {
    const procedure = initTRPC.meta<ProcedureMeta>().create().procedure;
    const it = procedure
      .meta({ openapi: { method: "POST", path } })
      .input(input)
      .output(z.void());
    const { operation } = await describeRouter(
      initTRPC.create().router({ it: it.mutation(() => undefined) }) as AnyRouter,
    );
    return operation("post", path).requestBody!;
  };

  test("takes nothing beside its fields, as any other", async () => {
    const { content } = await bodyOf("/things/{id}", checked);
    expect(content["application/json"]!.schema).toMatchObject({ additionalProperties: false });
    const open = z.looseObject({ id: z.string(), set: z.string().optional() });
    const { content: loose } = await bodyOf(
      "/things/{id}",
      open.refine(() => true),
    );
    expect(loose["application/json"]!.schema).not.toMatchObject({ additionalProperties: false });
  });

  test("is needed where an empty one is refused, and else is not", async () => {
    const all = z.strictObject({ set: z.string().optional(), remove: z.string().optional() });
    const one = all.refine(({ set, remove }) => set !== remove, "names nothing");
    expect(await bodyOf("/things", one)).toMatchObject({ required: true });
    expect(await bodyOf("/things", all)).toMatchObject({ required: false });
  });
});
