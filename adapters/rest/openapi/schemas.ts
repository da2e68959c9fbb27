/** Takes out of generated schemas what is noise to a reader or would bind a client to more than is promised. */
import { isDeepStrictEqual } from "node:util";
import type { OpenApiDocument } from "./document.ts";

type Node = Record<string, unknown>;

/** Returns the document with tidy schemas; the given one is left as it is. */
export function tidySchemas(document: OpenApiDocument): OpenApiDocument {
  const tidied = visit(JSON.parse(JSON.stringify(document)) as Node, false) as OpenApiDocument;
  const schemas = tidied.components?.schemas ?? {};
  for (const [name, schema] of Object.entries(schemas)) {
    schemas[name] = withoutItself(schema, `#/components/schemas/${name}`);
  }
  return withoutCopies(tidied);
}

/** The generator makes a copy without a name of a schema that contains itself wherever it stands in an input. */
function withoutCopies(document: OpenApiDocument): OpenApiDocument {
  const entries = Object.entries(document.components?.schemas ?? {});
  const isCopy = (name: string): boolean => name.startsWith("__");
  const merged = new Set<string>();
  let text = JSON.stringify(document);
  for (const [copy, schema] of entries) {
    const original = entries.find(([name, each]) => !isCopy(name) && isDeepStrictEqual(each, schema));
    if (!isCopy(copy) || original === undefined) continue;
    text = text.replaceAll(`"#/components/schemas/${copy}"`, `"#/components/schemas/${original[0]}"`);
    merged.add(copy);
  }
  const result = JSON.parse(text) as OpenApiDocument;
  for (const name of merged) delete result.components?.schemas?.[name];
  return result;
}

/** A generator of TypeScript makes of a schema that contains itself a type that does not compile. */
function withoutItself<Schema>(schema: Schema, self: string): Schema {
  return JSON.parse(JSON.stringify(schema), (_, value: unknown) => {
    const refersToItself = typeof value === "object" && value !== null && (value as Node)["$ref"] === self;
    return refersToItself ? { description: "The same again." } : value;
  }) as Schema;
}

/** @param isAnswer - Whether the node is part of what the server answers with. */
function visit(node: unknown, isAnswer: boolean): unknown {
  if (Array.isArray(node)) return node.map((each) => visit(each, isAnswer));
  if (typeof node !== "object" || node === null) return node;
  const entries = Object.entries(node as Node).map(([key, value]) => {
    if (isData(key)) return [key, value];
    return [key, visit(value, isAnswer || key === "responses" || key === "schemas")];
  });
  return tidyNode(Object.fromEntries(entries) as Node, isAnswer);
}

/** Examples and the like hold data, which may look like a schema. */
function isData(key: string): boolean {
  return key === "example" || key === "examples" || key === "enum" || key === "const" || key === "default";
}

function tidyNode(node: Node, isAnswer: boolean): Node {
  // Every integer of JavaScript has these bounds.
  if (node["minimum"] === Number.MIN_SAFE_INTEGER) delete node["minimum"];
  if (node["maximum"] === Number.MAX_SAFE_INTEGER) delete node["maximum"];
  // The format says it, in one word.
  if (typeof node["format"] === "string" && node["type"] === "string") delete node["pattern"];
  if (typeof node["pattern"] === "string") node["pattern"] = toCommonPattern(node["pattern"]);
  // A newer server may answer with more.
  if (isAnswer && node["additionalProperties"] === false) delete node["additionalProperties"];
  // `Record<"a" | "b", T>`: the keys are promised, but only by name.
  const { required, properties, additionalProperties } = node;
  if (Array.isArray(required) && properties === undefined && additionalProperties !== undefined) {
    node["properties"] = Object.fromEntries(required.map((name: string) => [name, additionalProperties]));
    delete node["propertyNames"];
    delete node["additionalProperties"];
  }
  return node;
}

/**
 * A pattern as the validators of other languages read it, which know neither classes of Unicode nor a look ahead (RE2, Python). It lets
 * the same through and more; the server says the rest.
 */
function toCommonPattern(pattern: string): string {
  return pattern.replace("(?!__proto__$)", "").replaceAll(/\\p\{C\}/g, "\\x00-\\x1f\\x7f-\\x9f");
}
