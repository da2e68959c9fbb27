/**
 * An OpenAPI 3.1 description, as far as it is read or written here. A type of our own: that of the generator needs types of
 * servers that nobody installs.
 */
export interface OpenApiDocument {
  openapi: string;
  info: {
    title: string;
    version: string;
    description?: string;
    license?: { name: string; identifier?: string };
  };
  servers?: { url: string }[];
  tags?: { name: string; description?: string }[];
  paths?: Record<string, object>;
  components?: OpenApiComponents;
}

/** What operations refer to, by name. */
export interface OpenApiComponents {
  schemas?: Record<string, object>;
  responses?: Record<string, object>;
  headers?: Record<string, object>;
  securitySchemes?: Record<string, object>;
}
