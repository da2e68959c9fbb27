import { z } from "zod";
import type { JsonObject } from "../internal/json.ts";
import type { ResourceType, ResourceTypes } from "../state/resource-type.ts";
import { commonPropertiesSchema } from "../state/definition.ts";
import { resourceTypes } from "../state/resources/index.ts";
import { paramsSchema } from "./params.ts";

/** Limits of a module; past them it is refused. */
export const moduleLimits = {
  /** Bytes of the text. */
  bytes: 512 * 1024,
  /** Resources of one module. */
  resources: 2000,
  /** Lists and maps within each other. */
  depth: 32,
  /** Words, signs, blanks and line ends of the text: what bounds the time that reading takes. */
  lexemes: 300_000,
  /** Expressions and tags of all templates. */
  expressions: 10_000,
} as const;

/** Name of a module, an assignment, a secret or a channel. */
export const nameSchema = z
  .string()
  .regex(
    /^[a-z0-9][a-z0-9._-]{0,63}$/,
    "must be 1-64 of a-z, 0-9, dot, dash and underscore, and not begin with a sign",
  );

/** A module as it is written, but for its resources, which their types know. */
export const moduleSchema = z.strictObject({
  /** Unique in the fleet. */
  name: nameSchema,
  /** What it is for. */
  description: z.string().max(1024).optional(),
  /** Selectors; an agent that none of them matches is refused before anything runs. Default: every agent is supported. */
  supports: z.array(z.string().max(4096)).max(100).default([]),
  /** What may be set where the module is used, and what templates call `params`. */
  params: paramsSchema.default({}),
  /** What is to be there, in the order in which it is to be made where nothing else says so. */
  resources: z.array(z.record(z.string(), z.unknown())).max(moduleLimits.resources),
});

/** Describes the format of a module as JSON Schema (2020-12), for editors that complete and check while one writes. */
export function toJsonSchema(types: ResourceTypes = resourceTypes): JsonObject {
  const schema = jsonSchemaOf(moduleSchema);
  const common = jsonSchemaOf(commonPropertiesSchema);
  const properties = schema["properties"] as { [name: string]: JsonObject };
  const items = [...types.values()].map((type) => resourceJsonSchema(type, common));
  const resources: JsonObject = { ...properties["resources"], items: { oneOf: items } };
  return { ...schema, title: "Fleetwright module", properties: { ...properties, resources } };
}

function resourceJsonSchema(type: ResourceType, common: JsonObject): JsonObject {
  const own = jsonSchemaOf(type.schema);
  const { $schema: _dialect, ...rest } = own;
  const required = (own["required"] ?? []) as string[];
  return {
    ...rest,
    title: type.type,
    description: type.summary,
    properties: {
      ...(common["properties"] as JsonObject),
      ...(own["properties"] as JsonObject),
      type: { const: type.type },
    },
    required: ["type", ...required],
  };
}

function jsonSchemaOf(schema: z.ZodType): JsonObject {
  return z.toJSONSchema(schema, { io: "input", unrepresentable: "any" }) as JsonObject;
}
