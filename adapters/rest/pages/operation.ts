/** One operation of the API reference: what it takes, what it answers, how it may be refused, and a call to copy. */
import { markup, prose } from "./html.ts";
import type { Html } from "./html.ts";
import { componentLink, renderProperties, renderProperty, typeOf } from "./schema-list.ts";
import type { ShownSchema } from "./schema-list.ts";

interface ShownMedia {
  schema?: ShownSchema;
  example?: unknown;
}

interface ShownResponse {
  $ref?: string;
  description?: string;
  headers?: Record<string, { $ref?: string; description?: string; schema?: ShownSchema }>;
  content?: Record<string, ShownMedia>;
}

interface ShownParameter {
  name: string;
  in: string;
  description?: string;
  required?: boolean;
  schema?: ShownSchema;
  example?: unknown;
}

/** An operation as the OpenAPI description has it; only what is shown. */
export interface ShownOperation {
  method: string;
  path: string;
  operationId?: string;
  summary?: string;
  description?: string;
  tags?: readonly string[];
  security?: readonly object[];
  parameters?: readonly ShownParameter[];
  requestBody?: { content?: Record<string, ShownMedia> };
  responses: Readonly<Record<string, ShownResponse>>;
}

/** What operations refer to. */
export interface ReferenceContext {
  /** Where paths begin. */
  base: string;
  mountPath: string;
  /** The responses that operations share. */
  responses: ShownOperation["responses"];
}

/** Shows one operation. */
export function renderOperation(operation: ShownOperation, context: ReferenceContext): Html {
  const { method, path, operationId = "", summary = "", description = "", parameters = [] } = operation;
  const body = operation.requestBody?.content?.["application/json"];
  const isOpen = operation.security?.length === 0;
  return markup`<article class="operation" id="${operationId}">
    <div>
      <h3>${summary}<a class="anchor" href="#${operationId}" aria-label="Link to ${summary}">#</a></h3>
      <div class="route">
        <span class="method ${method}">${method.toUpperCase()}</span> <span>${context.base}${path}</span>${
          isOpen && markup` <span class="badge">no session needed</span>`
        }
      </div>
      ${prose(description)} ${["path", "query", "header"].map((place) => renderParameters(place, parameters))}
      ${body?.schema && renderBody(body.schema)}
      <h4>Answers</h4>
      ${Object.entries(operation.responses).map(([status, response]) => renderResponse(status, response, context))}
    </div>
    <div class="samples">${renderSamples(operation, body?.example, context)}</div>
  </article> `;
}

const places: Readonly<Record<string, string>> = {
  path: "In the path",
  query: "In the query",
  header: "Headers",
};

function renderParameters(place: string, parameters: readonly ShownParameter[]): Html | null {
  const present = parameters.filter((parameter) => parameter.in === place);
  if (present.length === 0) return null;
  const shown = present.map(({ name, description, required = false, schema = {} }) => {
    const property = { ...schema, ...(description !== undefined && { description }) };
    return renderProperty({ name, property, isRequired: required });
  });
  return markup`<h4>${places[place] ?? place}</h4>
    <dl>${shown}</dl>`;
}

function renderBody(schema: ShownSchema): Html | null {
  const properties = renderProperties(schema);
  return properties === null
    ? null
    : markup`<h4>Body</h4>
        ${properties}`;
}

function renderResponse(status: string, response: ShownResponse, context: ReferenceContext): Html | null {
  if (status === "default") return null;
  const name = response.$ref?.slice(response.$ref.lastIndexOf("/") + 1) ?? "";
  const { description = "", headers = {}, content = {} } = context.responses[name] ?? response;
  const isRefusal = Number(status) >= 400;
  const [media] = Object.entries(content);
  const refusals = [...description.matchAll(/^`([A-Z_]+)`: (.*)$/gm)].map(([, code = "", meaning = ""]) => {
    return { code, meaning };
  });
  const line = isRefusal
    ? markup`${refusals.map(({ code }) => markup`<code>${code}</code> `)}`
    : markup`${description.replaceAll("`", "")}`;
  return markup`<details class="response" ${!isRefusal && media && markup` open`}>
    <summary><span class="status ${isRefusal ? "refused" : "ok"}">${status}</span>${line}</summary>
    ${isRefusal ? refusals.map((refusal) => renderRefusal(refusal, context)) : renderMedia(media)}
    ${renderHeaders(headers)}
  </details>`;
}

function renderRefusal(
  { code, meaning }: { code: string; meaning: string },
  context: ReferenceContext,
): Html {
  const page = `${context.mountPath}/problems/${code.toLowerCase().replaceAll("_", "-")}`;
  return markup`<p><a href="${page}">${code}</a> ${meaning}</p>`;
}

function renderMedia(media: [string, ShownMedia] | undefined): Html | null {
  if (media === undefined) return null;
  const [type, { schema = {} }] = media;
  const name = schema.$ref === undefined ? typeOf(schema) : componentLink(schema.$ref);
  return markup`<p class="soft">${type}: ${schema.properties === undefined ? name : "object"}</p>
    ${renderProperties(schema)}`;
}

function renderHeaders(headers: NonNullable<ShownResponse["headers"]>): Html | null {
  // Those that every answer has are told of once, at the top.
  const own = Object.entries(headers).filter(([, { $ref }]) => $ref === undefined);
  const shown = own.map(([name, { description = "", schema = {} }]) =>
    renderProperty({ name, property: { ...schema, description }, isRequired: false }),
  );
  return shown.length === 0 ? null : markup`<dl>${shown}</dl>`;
}

function renderSamples(operation: ShownOperation, body: unknown, context: ReferenceContext): Html {
  const success = Object.values(operation.responses).flatMap(({ content = {} }) => Object.values(content));
  const answer = success.find(({ example }) => example !== undefined)?.example;
  return markup`<h4>Request</h4>
    <pre tabindex="0"><code>${toCurl(operation, body, context.base)}</code></pre>
    ${
      answer !== undefined &&
      markup`<h4>Answer</h4>
        <pre tabindex="0"><code>${JSON.stringify(answer, null, 2)}</code></pre>`
    }`;
}

/** A line to paste into a shell where URL and TOKEN are set. */
function toCurl(
  { method, path, parameters = [], security }: ShownOperation,
  body: unknown,
  base: string,
): string {
  const filled = path.replaceAll(/\{(\w+)\}/g, (whole, name: string) => {
    const value = parameters.find((each) => each.in === "path" && each.name === name)?.example;
    return value === undefined ? whole : encodeURIComponent(String(value));
  });
  const query = new URLSearchParams();
  for (const { name, in: place, example } of parameters) {
    if (place !== "query" || example === undefined) continue;
    for (const value of [example].flat()) query.append(name, String(value));
  }
  const target = `$URL${base}${filled}${query.size === 0 ? "" : `?${query.toString()}`}`;
  const lines = [`curl${method === "get" ? "" : ` -X ${method.toUpperCase()}`} "${target}"`];
  if (security?.length !== 0) lines.push(`-H "Authorization: Bearer $TOKEN"`);
  if (body !== undefined) {
    lines.push(
      `-H "Content-Type: application/json"`,
      `-d '${JSON.stringify(body).replaceAll("'", `'\\''`)}'`,
    );
  }
  return lines.join(" \\\n  ");
}
