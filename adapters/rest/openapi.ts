/** The OpenAPI 3.1 description of a router. */
import type { AnyProcedure, AnyRouter } from "@trpc/server";
import type { ProcedureMeta, SuccessStatus } from "../trpc/trpc.ts";
import { eventStreamMediaType } from "./event-stream.ts";
import { defaultBasePath } from "./handler.ts";
import { describeSchemas } from "./openapi/descriptions.ts";
import type { OpenApiDocument } from "./openapi/document.ts";
import { addExample } from "./openapi/examples.ts";
import { answerHeaders, notModified, requestHeaders, sharedHeaders } from "./openapi/headers.ts";
import { codesOf, describeRefusals, otherRefusal, problemSchema } from "./openapi/problems.ts";
import { tidySchemas } from "./openapi/schemas.ts";
import { faultsOfInput, inputFields, inputSchema, isStrictInput } from "./parameters.ts";
import { operationExamples } from "./reference/examples.ts";
import { parameterReference } from "./reference/schemas.ts";
import { tagReference } from "./reference/tags.ts";
import { checkStatuses, restProcedures, resumeField } from "./routes.ts";

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
  description?: string;
  responses: Record<string, object>;
  security?: object[];
  parameters?: object[];
  requestBody?: { required?: boolean; content?: Record<string, { schema?: BodySchema }> };
}

interface BodySchema {
  properties?: object;
  additionalProperties?: boolean;
}

const defaultDescription = `Manages a fleet of machines, each run by an agent.

Sign in by a challenge (\`POST /auth/challenge\`, \`POST /auth/verify\`) and send the token as \`Authorization: Bearer\`. Bodies are
JSON; an unknown field is refused. A list is \`{ items, next_cursor }\`. Every refusal is a problem (RFC 9457) whose \`code\` is
stable. Every answer has an \`X-Request-Id\`, the request's own where it sent one. Times are RFC 3339 in UTC.`;

/** The generator knows no subscriptions: it is shown queries that return one item each. */
function withoutSubscriptions(router: AnyRouter): AnyRouter {
  const procedures = Object.entries(router._def.procedures as Record<string, AnyProcedure>).map(
    ([name, procedure]) => [name, procedure._def.type === "subscription" ? asQuery(procedure) : procedure],
  );
  return { ...router, _def: { ...router._def, procedures: Object.fromEntries(procedures) } } as AnyRouter;
}

function asQuery(procedure: AnyProcedure): AnyProcedure {
  const { rest } = procedure._def.meta as ProcedureMeta;
  const input = inputSchema(procedure) as { omit(fields: object): object } | undefined;
  const inputs = input === undefined ? [] : [input.omit({ [resumeField]: true })];
  const described = { ...procedure._def, type: "query", inputs, output: rest?.streams };
  return { _def: described } as unknown as AnyProcedure;
}

/** Describes every procedure that has a REST route. Takes some milliseconds, the first time more: make it once. */
export async function createOpenApiDocument(
  router: AnyRouter,
  options: OpenApiOptions = {},
): Promise<OpenApiDocument> {
  // With what it brings along it is a fifth of what a server would load, and many are never asked for their description.
  const { generateOpenApiDocument } = await import("trpc-to-openapi");
  const document = generateOpenApiDocument(withoutSubscriptions(router), {
    title: options.title ?? "Fleetwright management API",
    version: options.version ?? "0.0.9",
    description: options.description ?? defaultDescription,
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
  const refusals: Record<string, object> = {};
  for (const [name, procedure] of restProcedures(router)) {
    const { openapi } = procedure._def.meta as Required<ProcedureMeta>;
    const path = document.paths?.[openapi.path] as Record<string, Operation> | undefined;
    const operation = path?.[openapi.method.toLowerCase()];
    if (operation !== undefined) describeOperation(operation, { name, procedure, refusals });
  }
  const components = { ...ownSchemas(document), responses: refusals, headers: sharedHeaders };
  const tidied = tidySchemas({ ...document, tags: collectTags(router), components } as OpenApiDocument);
  describeSchemas(tidied);
  return tidied;
}

/** What an operation is described from. */
interface Described {
  name: string;
  procedure: AnyProcedure;
  /** The components that its refusals refer to. */
  refusals: Record<string, object>;
}

function describeOperation(operation: Operation, { name, procedure, refusals }: Described): void {
  const { openapi } = procedure._def.meta as Required<Pick<ProcedureMeta, "openapi">>;
  // Said outright: without it, a description can't be told from one where security was forgotten.
  if (openapi.protect === false) operation.security = [];
  describeParameters(operation, procedure);
  const headers = requestHeaders(procedure);
  if (headers.length > 0) operation.parameters = [...(operation.parameters ?? []), ...headers];
  operation.responses = {
    ...describeSuccesses(operation, procedure),
    ...describeRefusals(name, codesOf(name, procedure), refusals),
    default: otherRefusal,
  };
  const example = operationExamples[name];
  if (example !== undefined) addExample(operation, example);
}

/**
 * The generator drops what a schema says of an optional field, calls every body required, and opens one whose fields are checked against
 * each other to fields of any name.
 */
function describeParameters(operation: Operation, procedure: AnyProcedure): void {
  const fields = inputFields(procedure);
  for (const parameter of (operation.parameters ?? []) as { name: string; description?: string }[]) {
    const field = fields.get(parameter.name) as { description?: string } | undefined;
    const description = field?.description ?? parameterReference[parameter.name];
    if (description !== undefined) parameter.description = description;
  }
  const body = operation.requestBody;
  if (body === undefined) return;
  const { schema } = body.content?.["application/json"] ?? {};
  const inPath = new Set((operation.parameters as { name: string }[] | undefined)?.map(({ name }) => name));
  const { rest = {} } = procedure._def.meta as ProcedureMeta;
  const isIncomplete = faultsOfInput(procedure)({}).some(({ path: [name] }) => !inPath.has(String(name)));
  body.required = isIncomplete || rest.needsBody === true;
  if (schema?.properties !== undefined && isStrictInput(procedure)) schema.additionalProperties ??= false;
}

function describeSuccesses(operation: Operation, procedure: AnyProcedure): Record<string, object> {
  const { rest = {} } = procedure._def.meta as ProcedureMeta;
  const { content, ...bare } = operation.responses["200"] as { content?: object };
  const responses: Record<string, object> = {};
  for (const status of successStatuses(rest, procedureReturnsNothing(operation))) {
    const headers = answerHeaders(procedure, status);
    const media = mediaOf(rest, content);
    const body = status === 204 || media === undefined ? {} : { content: media };
    responses[status] = { ...bare, description: statusNames[status], headers, ...body };
  }
  if (rest.version !== undefined && procedure._def.type === "query")
    responses["304"] = { description: "It is the version that `If-None-Match` names.", ...notModified };
  return responses;
}

function mediaOf(rest: NonNullable<ProcedureMeta["rest"]>, content: object | undefined): object | undefined {
  if (rest.produces !== undefined)
    return Object.fromEntries(rest.produces.map((type) => [type, { schema: { type: "string" } }]));
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
  checkStatuses(rest);
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

function collectTags(router: AnyRouter): { name: string; description?: string }[] {
  const names = restProcedures(router).flatMap(
    ([, { _def }]) => (_def.meta as ProcedureMeta).openapi?.tags ?? [],
  );
  return [...new Set(names)].map((name) => {
    const description = tagReference[name];
    return { name, ...(description !== undefined && { description }) };
  });
}

/** The generator adds a schema for each status of its own error body, which nothing answers with. */
function ownSchemas(document: OpenApiDocument): NonNullable<OpenApiDocument["components"]> {
  const { schemas = {}, ...components } = document.components ?? {};
  const kept = Object.entries(schemas).filter(([name]) => !name.startsWith("error."));
  return { ...components, schemas: { ...Object.fromEntries(kept), Problem: problemSchema } };
}
