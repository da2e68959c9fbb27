/** Values made from JSON schemas: some fit, some nearly, some not at all. */
import fc from "fast-check";
import { evilName, sizesAround } from "../../support/evil.ts";
import { hostileTexts } from "./hostile-texts.ts";

/** The part of a JSON schema that is read here. */
export interface Schema {
  $ref?: string;
  type?: string | string[];
  enum?: unknown[];
  const?: unknown;
  anyOf?: Schema[];
  oneOf?: Schema[];
  allOf?: Schema[];
  items?: Schema;
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: Schema | boolean;
  minimum?: number;
  maximum?: number;
  minItems?: number;
  format?: string;
  pattern?: string;
}

/** Texts that mean something to the server, by the field or parameter that takes them. */
export type KnownTexts = (field: string) => readonly string[];

const plain = fc.stringMatching(/^[a-z][a-z0-9-]{0,20}$/);
const moments = fc
  .date({ min: new Date("2020-01-01"), max: new Date("2040-01-01"), noInvalidDate: true })
  .map((date) => date.toISOString());
const hostileText = hostileTexts(["x", "2030-01-01T00:00:00Z", "role=web"]);

/** What is no value that a schema would ever ask for. */
const hostile: fc.Arbitrary<unknown> = fc.oneof(
  fc.jsonValue({ maxDepth: 3 }),
  hostileText,
  fc.constantFrom<unknown>(null, -1, 0, 1e308, 2 ** 53, -0.5, "", [], {}, [[]], true, "__proto__", {
    constructor: { prototype: 1 },
  }),
);

/** Makes values for one description. */
export class SchemaValues {
  readonly #components: Readonly<Record<string, Schema>>;
  readonly #known: KnownTexts;

  constructor(components: Readonly<Record<string, Schema>>, known: KnownTexts) {
    this.#components = components;
    this.#known = known;
  }

  /** Values for a field of a schema; `wild` of 100 are not what it asks for. */
  of(schema: Schema, field: string, wild = 8): fc.Arbitrary<unknown> {
    // Whoever asks to wait gets what was asked for.
    if (field === "wait_seconds") return fc.constantFrom<unknown>(0, 0, 0, -1, "0", 1e9, null);
    const fitting = this.#fitting(this.#resolved(schema), field, wild);
    return wild === 0
      ? fitting
      : fc.oneof({ weight: 100 - wild, arbitrary: fitting }, { weight: wild, arbitrary: hostile });
  }

  #fitting(schema: Schema, field: string, wild: number): fc.Arbitrary<unknown> {
    if (schema.const !== undefined) return fc.constant(schema.const);
    if (schema.enum) return fc.constantFrom(...schema.enum);
    const choices = schema.anyOf ?? schema.oneOf;
    if (choices) return fc.oneof(...choices.map((choice) => this.of(choice, field, wild)));
    if (schema.allOf?.[0]) return this.of(schema.allOf[0], field, wild);
    const type = Array.isArray(schema.type) ? schema.type[0] : schema.type;
    switch (type) {
      case "integer":
      case "number":
        return this.#numbers(schema, wild);
      case "boolean":
        return fc.boolean();
      case "null":
        return fc.constant(null);
      case "array":
        return fc.array(this.of(schema.items ?? {}, field, wild), {
          minLength: schema.minItems ?? 0,
          maxLength: 4,
        });
      case "object":
        return this.#object(schema, wild);
      default:
        return this.#texts(schema, field, wild);
    }
  }

  /** Mostly what is known when the value is made. */
  /** Those that are allowed; and, where it may be wild, those next to the bounds on the other side. */
  #numbers({ minimum, maximum }: Schema, wild: number): fc.Arbitrary<number> {
    const min = Math.max(minimum ?? 0, -1e9);
    const max = Math.min(maximum ?? 1_000, 1e9);
    const near = [minimum, maximum].flatMap((bound) => (bound === undefined ? [] : sizesAround(bound)));
    const usable = near.filter((number) => wild > 0 || (number >= min && number <= max));
    const inside = fc.integer({ min, max });
    return usable.length === 0
      ? inside
      : fc.oneof({ weight: 4, arbitrary: inside }, { weight: 1, arbitrary: fc.constantFrom(...usable) });
  }

  #texts({ format, pattern }: Schema, field: string, wild: number): fc.Arbitrary<string> {
    const made = format === "date-time" ? moments : pattern === undefined ? plain : this.#matching(pattern);
    const known = fc.tuple(fc.nat(), made).map(([at, otherwise]) => {
      const texts = this.#known(field);
      return texts[at % texts.length] ?? otherwise;
    });
    return fc.oneof(
      { weight: 8, arbitrary: known },
      { weight: 1, arbitrary: made },
      { weight: wild > 0 ? 1 : 0, arbitrary: fc.oneof(hostileText, evilName) },
    );
  }

  #object(schema: Schema, wild: number): fc.Arbitrary<unknown> {
    const { properties = {}, required = [], additionalProperties } = schema;
    const fields = Object.entries(properties).map(([name, property]) => {
      const value = this.of(property, name, wild);
      // Of many that may be left out, two seldom fit each other.
      const optional = fc.option(value, { nil: undefined, freq: 1 });
      return [name, required.includes(name) ? value : optional] as const;
    });
    const named = fc.record(Object.fromEntries(fields));
    if (typeof additionalProperties !== "object") return named;
    const others = fc.dictionary(
      fc.stringMatching(/^[a-z]{1,8}$/),
      this.of(additionalProperties, "value", wild),
      { maxKeys: 3 },
    );
    return fc.tuple(named, others).map(([one, other]) => ({ ...other, ...one }));
  }

  /** Texts that fit a pattern; plain ones where it says what can't be made from it, a lookahead say. */
  #matching(pattern: string): fc.Arbitrary<string> {
    try {
      return fc.stringMatching(new RegExp(pattern, "u"), { maxLength: 60 });
    } catch {
      return plain;
    }
  }

  #resolved(schema: Schema): Schema {
    const name = schema.$ref?.split("/").at(-1);
    return name === undefined ? schema : this.#resolved(this.#components[name] ?? {});
  }
}
