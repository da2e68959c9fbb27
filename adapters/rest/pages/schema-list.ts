/** Shows a schema to people: each property with its type, its bounds and what it says. */
import { markup, prose } from "./html.ts";
import type { Html } from "./html.ts";

/** A schema as the OpenAPI description has it; only what is shown. */
export interface ShownSchema {
  $ref?: string;
  type?: string | readonly string[];
  format?: string;
  description?: string;
  properties?: Readonly<Record<string, ShownSchema>>;
  required?: readonly string[];
  items?: ShownSchema;
  additionalProperties?: ShownSchema | boolean;
  anyOf?: readonly ShownSchema[];
  oneOf?: readonly ShownSchema[];
  allOf?: readonly ShownSchema[];
  enum?: readonly unknown[];
  const?: unknown;
  pattern?: string;
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  minItems?: number;
  maxItems?: number;
}

/** How deep properties of properties are shown in place; what is deeper is named. */
const deepest = 2;

/** Lists the properties of an object; null where it has none to list. A component is a link to its own section. */
export function renderProperties(schema: ShownSchema, depth = 0): Html | null {
  const { properties, required = [] } = schema;
  if (properties === undefined || Object.keys(properties).length === 0) return null;
  const entries = Object.entries(properties).map(([name, property]) =>
    renderProperty({ name, property, isRequired: required.includes(name) }, depth),
  );
  return markup`<dl>${entries}</dl>`;
}

/** One property, or a parameter, which is shown alike. */
export interface ShownProperty {
  name: string;
  property: ShownSchema;
  isRequired: boolean;
}

/** Shows one property. */
export function renderProperty({ name, property, isRequired }: ShownProperty, depth = 0): Html {
  const inner = innerOf(property);
  const nested = depth < deepest && inner !== null ? renderProperties(inner, depth + 1) : null;
  return markup`<div>
    <dt>
      <code>${name}</code> <span class="type">${typeOf(property)}</span>${
        isRequired && markup` <span class="required">required</span>`
      }
    </dt>
    <dd>
      ${property.description !== undefined && prose(property.description)}${boundsOf(property)}${nested}
    </dd>
  </div>`;
}

/** Names the type of a schema, with links to components. */
export function typeOf(schema: ShownSchema): Html {
  const { $ref, items, anyOf, oneOf, additionalProperties } = schema;
  if ($ref !== undefined) return componentLink($ref);
  if (schema.enum !== undefined)
    return markup`${schema.enum.map((value) => JSON.stringify(value)).join(" | ")}`;
  if (schema.const !== undefined) return markup`${JSON.stringify(schema.const)}`;
  const choices = anyOf ?? oneOf;
  if (choices !== undefined) {
    return markup`${choices.map((each, index) => markup`${index > 0 && " | "}${typeOf(each)}`)}`;
  }
  if (schema.type === "array" && items !== undefined) return markup`list of ${typeOf(items)}`;
  if (typeof additionalProperties === "object") return markup`map of ${typeOf(additionalProperties)}`;
  const type = [schema.type ?? "any"].flat().join(" | ");
  return markup`${schema.format === undefined ? type : `${type}, ${schema.format}`}`;
}

/** A link to the section of a component. */
export function componentLink(ref: string): Html {
  const name = ref.slice(ref.lastIndexOf("/") + 1);
  return markup`<a href="#schema-${name}">${name}</a>`;
}

function innerOf(schema: ShownSchema): ShownSchema | null {
  if (schema.properties !== undefined) return schema;
  return schema.items?.properties === undefined ? null : schema.items;
}

function boundsOf(schema: ShownSchema): Html | null {
  const { minimum, maximum, minLength, maxLength, minItems, maxItems, pattern } = schema;
  const bounds = [
    between(minimum, maximum, ""),
    between(minLength, maxLength, " characters"),
    between(minItems, maxItems, " items"),
  ].filter((text) => text !== null);
  if (bounds.length === 0 && pattern === undefined) return null;
  return markup`<p class="soft">
    ${bounds.join("; ")}${
      pattern !== undefined && markup`${bounds.length > 0 && "; "}matches <code>${pattern}</code>`
    }
  </p>`;
}

function between(least: number | undefined, most: number | undefined, unit: string): string | null {
  if (least === undefined && most === undefined) return null;
  if (most === undefined) return `at least ${least}${unit}`;
  return least === undefined ? `at most ${most}${unit}` : `${least} to ${most}${unit}`;
}
