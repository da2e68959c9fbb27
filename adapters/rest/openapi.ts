/** The OpenAPI 3.1 description of a router. */
import type { AnyProcedure, AnyRouter } from "@trpc/server";
import { generateOpenApiDocument } from "trpc-to-openapi";
import type { OpenAPIObject } from "trpc-to-openapi";
import type { ProcedureMeta, SuccessStatus } from "../trpc/trpc.ts";
import { eventStreamMediaType } from "./event-stream.ts";
import { defaultBasePath } from "./handler.ts";
import { problemMediaType } from "./problem.ts";
import { restProcedures, resumeField } from "./routes.ts";

/** What a description says beside the procedures. */
export interface OpenApiOptions {
  title?: string;
  description?: string;
  /** Default `/api/v1`. */
  basePath?: string;
  /** Version of the interface, not of the package; default 0.0.9. */
  version?: string;
}

// The parts of an operation that are rewritten; the rest stays as it was made.
interface Operation {
  responses: Record<string, object>;
  security?: object[];
  parameters?: object[];
}

type SchemaObject = NonNullable<NonNullable<OpenAPIObject["components"]>["schemas"]>[string];

const problemSchema = {
  type: "object",
  description: "Why a request was refused (RFC 9457).",
  required: ["type", "title", "status", "detail", "code", "request_id"],
  properties: {
    type: {
      type: "string",
      format: "uri-reference",
      description: "Path of the page that explains the code.",
    },
    title: { type: "string" },
    status: { type: "integer" },
    detail: { type: "string" },
    code: { type: "string", pattern: "^[A-Z][A-Z0-9_]*$", description: "Stable: programs decide by this." },
    request_id: { type: "string" },
    errors: {
      type: "array",
      description: "The faults of the input.",
      items: {
        type: "object",
        required: ["pointer", "message"],
        properties: {
          pointer: { type: "string", description: "JSON Pointer (RFC 6901) into the input." },
          message: { type: "string" },
          line: { type: "integer", minimum: 1 },
          column: { type: "integer", minimum: 1 },
        },
      },
    },
    details: { type: "object", description: "Facts for programs." },
  },
  example: {
    type: "/problems/not-found",
    title: "There is no such thing.",
    status: 404,
    detail: "There is no such thing.",
    code: "NOT_FOUND",
    request_id: "0199d3a0-5f3c-7c1e-9a55-0d9f5f3e2b11",
  },
} satisfies SchemaObject;

const problemResponse = {
  description: "The request was refused; `code` says why.",
  content: { [problemMediaType]: { schema: { $ref: "#/components/schemas/Problem" } } },
} as const;

const locationHeader = {
  Location: {
    description: "Path of what was made or started.",
    schema: { type: "string", format: "uri-reference" },
  },
} as const;

const lastEventId = {
  in: "header",
  name: "Last-Event-ID",
  description: "Id of the last item that was read; what came after it is told.",
  schema: { type: "string" },
} as const;

/** The generator knows no subscriptions: it is shown queries that return one item each. */
function withoutSubscriptions(router: AnyRouter): AnyRouter {
  const procedures = Object.entries(router._def.procedures as Record<string, AnyProcedure>).map(
    ([name, procedure]) => [name, procedure._def.type === "subscription" ? asQuery(procedure) : procedure],
  );
  return { ...router, _def: { ...router._def, procedures: Object.fromEntries(procedures) } } as AnyRouter;
}

function asQuery(procedure: AnyProcedure): AnyProcedure {
  const { rest } = procedure._def.meta as ProcedureMeta;
  const [input] = (procedure._def as unknown as { inputs: readonly { omit(fields: object): object }[] })
    .inputs;
  const inputs = input === undefined ? [] : [input.omit({ [resumeField]: true })];
  const described = { ...procedure._def, type: "query", inputs, output: rest?.streams };
  return { _def: described } as unknown as AnyProcedure;
}

/** Describes every procedure that has a REST route. Takes some milliseconds: make it once, at start. */
export function createOpenApiDocument(router: AnyRouter, options: OpenApiOptions = {}): OpenAPIObject {
  const document = generateOpenApiDocument(withoutSubscriptions(router), {
    title: options.title ?? "Fleetwright management API",
    version: options.version ?? "0.0.9",
    ...(options.description === undefined ? {} : { description: options.description }),
    license: { name: "MIT OR Apache-2.0", identifier: "MIT OR Apache-2.0" },
    openApiVersion: "3.1.0",
    baseUrl: options.basePath ?? defaultBasePath,
    securitySchemes: {
      session: {
        type: "http",
        scheme: "bearer",
        description: "The token of a session, from POST /auth/verify.",
      },
    },
  });
  for (const [, procedure] of restProcedures(router)) {
    const { openapi, rest } = procedure._def.meta as Required<ProcedureMeta>;
    const path = document.paths?.[openapi.path] as Record<string, Operation> | undefined;
    const operation = path?.[openapi.method.toLowerCase()];
    if (operation === undefined) continue;
    describeResponses(operation, rest ?? {}, procedureReturnsNothing(operation));
    if (rest?.streams !== undefined) operation.parameters = [...(operation.parameters ?? []), lastEventId];
  }
  return { ...document, tags: collectTags(router), components: ownSchemas(document) };
}

function describeResponses(
  operation: Operation,
  rest: NonNullable<ProcedureMeta["rest"]>,
  isEmpty: boolean,
): void {
  const { "200": success = { description: "Done" } } = operation.responses;
  const { content, ...bare } = success as { content?: object };
  const responses: Record<string, object> = {};
  for (const status of successStatuses(rest, isEmpty)) {
    const headers = rest.location !== undefined && status !== 200 ? { headers: locationHeader } : {};
    const media = mediaOf(rest, content);
    const body = status === 204 || media === undefined ? {} : { content: media };
    responses[status] = { ...bare, description: statusNames[status], ...headers, ...body };
  }
  if (rest.versioned === true)
    responses["304"] = { description: "It is the version that If-None-Match names." };
  const refusals = Object.keys(operation.responses).filter((status) => Number(status) >= 400);
  for (const status of refusals) responses[status] = problemResponse;
  operation.responses = { ...responses, default: problemResponse };
}

function mediaOf(rest: NonNullable<ProcedureMeta["rest"]>, content: object | undefined): object | undefined {
  if (rest.produces !== undefined) return { [rest.produces]: { schema: { type: "string" } } };
  if (rest.streams === undefined) return content;
  // The schema is that of the data of each event: OpenAPI 3.1 has no word for the items of a stream.
  return { [eventStreamMediaType]: (content as Record<string, object>)["application/json"] };
}

const statusNames: Record<SuccessStatus, string> = {
  200: "Done.",
  201: "Made.",
  202: "Started; `Location` tells how it goes on.",
  204: "Done; there is nothing to say.",
};

function successStatuses(
  rest: NonNullable<ProcedureMeta["rest"]>,
  isEmpty: boolean,
): readonly SuccessStatus[] {
  if (rest.statuses !== undefined) return rest.statuses;
  if (typeof rest.status === "number") return [rest.status];
  if (rest.status !== undefined)
    throw new Error("A status that depends on the output needs `statuses`, too.");
  return [isEmpty ? 204 : 200];
}

/** Whether a success has no body: its output schema is `void` or `undefined`, which has no JSON form. */
function procedureReturnsNothing(operation: Operation): boolean {
  const content = (
    operation.responses["200"] as { content?: Record<string, { schema?: object }> } | undefined
  )?.content;
  const schema = content?.["application/json"]?.schema;
  return schema === undefined || Object.keys(schema).length === 0 || "not" in schema;
}

function collectTags(router: AnyRouter): { name: string }[] {
  const names = restProcedures(router).flatMap(
    ([, { _def }]) => (_def.meta as ProcedureMeta).openapi?.tags ?? [],
  );
  return [...new Set(names)].map((name) => ({ name }));
}

/** The generator adds a schema for each status of its own error body, which nothing answers with. */
function ownSchemas(document: OpenAPIObject): NonNullable<OpenAPIObject["components"]> {
  const { schemas = {}, ...components } = document.components ?? {};
  const kept = Object.entries(schemas).filter(([name]) => !name.startsWith("error."));
  return { ...components, schemas: { ...Object.fromEntries(kept), Problem: problemSchema } };
}
