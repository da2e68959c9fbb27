/** The API reference: the OpenAPI description as one page. */
import type { OpenApiDocument } from "../openapi/document.ts";
import { markup, prose } from "./html.ts";
import type { Html } from "./html.ts";
import { renderOperation } from "./operation.ts";
import type { ReferenceContext, ShownOperation } from "./operation.ts";
import { renderPage } from "./page.ts";
import { renderProperties, typeOf } from "./schema-list.ts";
import type { ShownSchema } from "./schema-list.ts";

type Methods = Record<string, Omit<ShownOperation, "method" | "path">>;

/** Writes the page. Takes some milliseconds: make it once, at start. */
export function renderReference(document: OpenApiDocument, mountPath = ""): string {
  const { info, servers = [], tags = [], components } = document;
  const base = servers[0]?.url ?? "";
  const schemas = (components?.schemas ?? {}) as Record<string, ShownSchema>;
  const responses = (components?.responses ?? {}) as ShownOperation["responses"];
  const operations = Object.entries((document.paths ?? {}) as Record<string, Methods>).flatMap(
    ([path, methods]) =>
      Object.entries(methods).map(([method, operation]): ShownOperation => ({ ...operation, method, path })),
  );
  const groups = tags.map(({ name, description = "" }) => {
    return { name, description, operations: operations.filter((each) => each.tags?.[0] === name) };
  });
  const body = markup`<h1>${info.title}</h1>
    <p class="soft">
      Version ${info.version} &middot; below <code>${base}</code> &middot;
      <a href="${base}/openapi.json">OpenAPI 3.1 document</a> &middot;
      <a href="${mountPath}/problems">all refusals</a>
    </p>
    ${prose(info.description ?? "")}
    ${groups.map((group) => renderGroup(group, { base, mountPath, responses }))}
    <h2 id="schemas">Schemas</h2>
    ${Object.entries(schemas).map(([name, schema]) => renderSchema(name, schema))}`;
  return renderPage({ title: "API reference", mountPath, side: renderSide(groups), body });
}

interface Group {
  name: string;
  description: string;
  operations: ShownOperation[];
}

function renderGroup({ name, description, operations }: Group, context: ReferenceContext): Html {
  return markup`<section id="tag-${name}">
    <h2>${name}<a class="anchor" href="#tag-${name}" aria-label="Link to ${name}">#</a></h2>
    ${prose(description)} ${operations.map((operation) => renderOperation(operation, context))}
  </section>`;
}

function renderSide(groups: readonly Group[]): Html {
  const lists = groups.map(
    ({ name, operations }) =>
      markup`<h2>${name}</h2>
        <ul>
          ${operations.map(
            ({ operationId, method, summary }) =>
              markup`<li>
                <a href="#${operationId}"
                  ><span>${summary}</span> <span class="method ${method}">${method.toUpperCase()}</span></a
                >
              </li>`,
          )}
        </ul>`,
  );
  return markup`<nav aria-label="Operations">
    ${lists}
    <h2>More</h2>
    <ul>
      <li><a href="#schemas">Schemas</a></li>
    </ul>
  </nav>`;
}

function renderSchema(name: string, schema: ShownSchema): Html {
  const choices = schema.anyOf ?? schema.oneOf;
  return markup`<section class="schema" id="schema-${name}">
    <h3>${name}</h3>
    ${schema.description !== undefined && prose(schema.description)}
    ${renderProperties(schema) ?? (choices ? choices.map(renderChoice) : markup`<p>${typeOf(schema)}</p>`)}
  </section>`;
}

function renderChoice(choice: ShownSchema): Html {
  const properties = renderProperties(choice);
  return markup`<details open>
    <summary>one of: ${choice.description ?? typeOf(choice)}</summary>
    ${properties}
  </details>`;
}
