/** Puts words to the schemas of the OpenAPI description that have none of their own. */
import { fieldReference, schemaReference } from "../reference/schemas.ts";
import type { OpenApiDocument } from "./document.ts";

interface Described {
  $ref?: string;
  description?: string;
  properties?: Record<string, Described>;
}

/** Describes the schemas in place, and their fields. */
export function describeSchemas({ components }: OpenApiDocument): void {
  for (const [name, schema] of Object.entries((components?.schemas ?? {}) as Record<string, Described>)) {
    describe(schema, schemaReference[name]);
    for (const [field, property] of Object.entries(schema.properties ?? {})) {
      describe(property, fieldReference[`${name}.${field}`] ?? fieldReference[field]);
    }
  }
}

/** A reference is described where it leads. */
function describe(schema: Described, description: string | undefined): void {
  if (schema.$ref === undefined && description !== undefined) schema.description ??= description;
}
