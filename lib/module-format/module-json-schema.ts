/** The format of a module as JSON Schema, made from the schemas of all types: what an editor checks while one writes. */
import { z } from "zod";
import type { Json, JsonObject } from "../json.ts";
import { commonPropertiesSchema } from "../state/definition.ts";
import type { ResourceType, ResourceTypes } from "../state/resource-type.ts";
import { resourceTypes } from "../state/resources/index.ts";
import { moduleTextSchema } from "./module-schema.ts";

// No type has such a name: theirs are in snake_case.
const templateName = "Template";
const templateRef: JsonObject = { $ref: `#/$defs/${templateName}` };

/**
 * Describes the format of a module as JSON Schema (2020-12). A resource is told by its `type`; where a property is more than
 * any text, a template may stand in its place. What only the whole module shows, such as an unknown id, is left to
 * {@link checkModule}.
 *
 * @param types - Types of resources to know. Default: all that ship with the package.
 */
export function moduleJsonSchema(types: ResourceTypes = resourceTypes): JsonObject {
  const schema = jsonSchemaOf(moduleTextSchema);
  const common = jsonSchemaOf(commonPropertiesSchema)["properties"] as JsonObject;
  const properties = schema["properties"] as { [name: string]: JsonObject };
  const definitions: JsonObject = {
    ...(schema["$defs"] as JsonObject | undefined),
    [templateName]: { type: "string", pattern: "\\{[{%]", title: "template" },
  };
  for (const type of types.values()) {
    const { own, shared } = resourceJsonSchema(type, common);
    definitions[type.type] = own;
    for (const [name, definition] of Object.entries(shared)) definitions[`${type.type}.${name}`] = definition;
  }
  const items = { oneOf: [...types.keys()].map((name) => ({ $ref: `#/$defs/${name}` })) };
  return {
    ...schema,
    title: "Fleetwright module",
    properties: { ...properties, resources: { ...properties["resources"], items } },
    $defs: definitions,
  };
}

function resourceJsonSchema(type: ResourceType, common: JsonObject): { own: JsonObject; shared: JsonObject } {
  const { $schema: _dialect, $defs = {}, ...schema } = moveReferences(jsonSchemaOf(type.schema), type.type);
  const properties = Object.entries((schema["properties"] ?? {}) as { [name: string]: JsonObject });
  const own = {
    ...schema,
    title: type.type,
    description: type.summary,
    properties: {
      ...common,
      ...Object.fromEntries(properties.map(([name, property]) => [name, orTemplate(property)])),
      type: { const: type.type },
    },
    required: ["type", ...((schema["required"] ?? []) as string[])],
  };
  return { own, shared: $defs as JsonObject };
}

/** Lets a template stand wherever a value may, also within lists and maps. */
function orTemplate(schema: JsonObject): JsonObject {
  if ("const" in schema || "$ref" in schema) return schema;
  const isAnyText =
    schema["type"] === "string" && !("pattern" in schema || "format" in schema || "enum" in schema);
  if (isAnyText) return schema;
  const { description, default: preset, ...rest } = schema;
  const inner = withTemplatesInside(rest);
  return {
    ...(description !== undefined && { description }),
    ...(preset !== undefined && { default: preset }),
    anyOf: [inner, templateRef],
  };
}

function withTemplatesInside(schema: JsonObject): JsonObject {
  const inner: JsonObject = { ...schema };
  for (const key of ["items", "additionalProperties"]) {
    if (isObject(schema[key])) inner[key] = orTemplate(schema[key]);
  }
  for (const key of ["anyOf", "oneOf", "allOf", "prefixItems"]) {
    const list = schema[key];
    if (Array.isArray(list))
      inner[key] = list.map((each) => (isObject(each) ? withTemplatesInside(each) : each));
  }
  if (isObject(schema["properties"])) {
    const entries = Object.entries(schema["properties"]);
    inner["properties"] = Object.fromEntries(
      entries.map(([name, property]) => [name, isObject(property) ? orTemplate(property) : property]),
    );
  }
  return inner;
}

/** Definitions of a type stand beside those of the others, so each name begins with that of its type. */
function moveReferences(schema: JsonObject, type: string): JsonObject {
  const text = JSON.stringify(schema).replaceAll('"#/$defs/', `"#/$defs/${type}.`);
  return JSON.parse(text) as JsonObject;
}

function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function jsonSchemaOf(schema: z.ZodType): JsonObject {
  return z.toJSONSchema(schema, { io: "input", unrepresentable: "any" }) as JsonObject;
}
