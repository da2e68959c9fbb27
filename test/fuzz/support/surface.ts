/** Calls of the REST surface that are made from its own description, and what of their answers the description does not tell. */
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import fc from "fast-check";
import { SchemaValues, type KnownTexts, type Schema } from "./from-schema.ts";
import { hostileTexts } from "./hostile-texts.ts";

interface Media {
  schema?: Schema;
}
interface Described {
  description?: string;
  $ref?: string;
  content?: Record<string, Media>;
}
interface Operation {
  operationId: string;
  parameters?: { name: string; in: string; required?: boolean; schema: Schema }[];
  requestBody?: { content: Record<string, Media> };
  responses: Record<string, Described>;
}

/** What is read here of an OpenAPI description. */
export interface Description {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Schema>; responses: Record<string, Described> };
}

/** A call that is made up. */
export interface MadeUp {
  /** The procedure, as `agents.list`. */
  procedure: string;
  method: string;
  /** Below the base path, with its query. */
  path: string;
  headers: Record<string, string>;
  body: string | undefined;
}

const json = "application/json";

/** The operations of a description. */
export class Surface {
  readonly #description: Description;
  readonly #known: KnownTexts;
  readonly #values: SchemaValues;
  readonly #ajv = new Ajv2020({ strict: false, validateFormats: false });
  readonly #checks = new Map<object, ValidateFunction>();

  constructor(description: Description, known: KnownTexts) {
    this.#description = description;
    this.#known = known;
    this.#values = new SchemaValues(description.components.schemas, known);
    this.#ajv.addSchema({ $id: "api", components: description.components });
  }

  /** Every operation whose answer ends by itself. */
  get operations(): [method: string, path: string, operation: Operation][] {
    return Object.entries(this.#description.paths).flatMap(([path, methods]) =>
      Object.entries(methods)
        .filter(([, { responses }]) => !("text/event-stream" in (responses["200"]?.content ?? {})))
        .map(([method, operation]): [string, string, Operation] => [method.toUpperCase(), path, operation]),
    );
  }

  /** Calls of one operation; `wild` of 100 values are none that it asks for. */
  callsOf([method, path, operation]: [string, string, Operation], wild: number): fc.Arbitrary<MadeUp> {
    const text = (name: string, schema: Schema): fc.Arbitrary<string> =>
      this.#values
        .of(schema, name, 15)
        .map((value) => (typeof value === "string" ? value : (JSON.stringify(value) ?? "")));
    const parameters = (operation.parameters ?? []).map(({ name, in: where, required = false, schema }) => {
      const value = where === "header" ? this.#header(name) : text(name, schema);
      return fc.tuple(
        fc.constant({ name, where }),
        required ? value : fc.option(value, { nil: undefined, freq: 1 }),
      );
    });
    const schema = operation.requestBody?.content[json]?.schema;
    const value = schema === undefined ? fc.constant(undefined) : this.#values.of(schema, "", wild);
    const body = fc.oneof(
      { weight: 9, arbitrary: value.map((made) => (made === undefined ? undefined : JSON.stringify(made))) },
      { weight: wild > 0 ? 1 : 0, arbitrary: hostileTexts(['{"a":1}', "[]"]) },
    );
    return fc.tuple(fc.tuple(...parameters), body).map(([given, text]) => {
      let to = path;
      const query = new URLSearchParams();
      const headers: Record<string, string> = text === undefined ? {} : { "content-type": json };
      for (const [{ name, where }, part] of given) {
        if (where === "path") to = to.replace(`{${name}}`, encoded(part ?? ""));
        else if (part === undefined) continue;
        else if (where === "query") query.append(name, part);
        else headers[name.toLowerCase()] = part;
      }
      // Whoever doesn't say so waits for the end of what nobody does here.
      if (operation.parameters?.some(({ name }) => name === "Prefer")) headers["prefer"] ??= "respond-async";
      const procedure = operation.operationId.replace("-", ".");
      const search = query.size > 0 ? `?${query}` : "";
      return { procedure, method, path: `${to}${search}`.slice(0, 8_000), headers, body: text };
    });
  }

  /** What of an answer its operation does not tell; null where all is told. */
  faultOf(
    { responses }: Operation,
    { status, type, body }: { status: number; type: string; body: unknown },
  ): string | null {
    const told = responses[status] ?? responses["default"];
    if (told === undefined || (status < 400 && !(status in responses)))
      return `It does not tell of ${status}.`;
    const name = told.$ref?.split("/").at(-1);
    const { content = {} } = name === undefined ? told : (this.#description.components.responses[name] ?? {});
    // The description may name the parameters of a type, too.
    const media = content[type] ? type : type.split(";", 1)[0]!;
    if (media === "")
      return Object.keys(content).length === 0 || status === 304 ? null : `${status} has no body.`;
    const schema = content[media]?.schema;
    if (schema === undefined) return content[media] ? null : `${status} tells of no ${media}.`;
    if (!media.endsWith("json")) return null;
    const check = this.#checkOf(schema);
    return check(body) ? null : `${status}: ${this.#ajv.errorsText(check.errors)}`;
  }

  #header(name: string): fc.Arbitrary<string> {
    const examples: Record<string, string[]> = {
      "If-Match": ["*", '"1"', '"2-abc"', 'W/"1"'],
      "If-None-Match": ["*", '"1-abc"'],
      "Idempotency-Key": ["one", "two", "6b0dcb4e-6d3f-4b51-9ad4-31a3ec6ac0ce"],
      Prefer: ["respond-async", "respond-async, wait=0"],
    };
    const texts = [...(examples[name] ?? ["x"]), ...this.#known(name)];
    // What no client can send is none of the server's worries; waiting would take as long as it says.
    const sendable = hostileTexts(texts).map((text) =>
      text
        .replaceAll(/[^\x20-\x7e]/g, "?")
        .trim()
        .slice(0, 500),
    );
    const all = fc.oneof(
      { weight: 4, arbitrary: fc.constantFrom(...texts) },
      { weight: 1, arbitrary: sendable },
    );
    return name === "Prefer" ? all.map((text) => `respond-async, ${text.replaceAll(/wait/gi, "w")}`) : all;
  }

  #checkOf(schema: Schema): ValidateFunction {
    const known = this.#checks.get(schema);
    if (known) return known;
    const made = this.#ajv.compile(
      JSON.parse(JSON.stringify(schema).replaceAll('"#/components', '"api#/components')) as object,
    );
    this.#checks.set(schema, made);
    return made;
  }
}

/** Half of what is put into a path is encoded as it must be, the rest as somebody might who knows no better. */
function encoded(text: string): string {
  return text.includes("/") && text.length % 2 === 0
    ? encodeURI(well(text)).replaceAll("?", "%3F").replaceAll("#", "%23")
    : encodeURIComponent(well(text));
}

/** URIs have no lone surrogates. */
function well(text: string): string {
  return text.replaceAll(/\p{Surrogate}/gu, "\ufffd");
}
