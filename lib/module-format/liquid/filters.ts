/** Values as templates write them: never `[object Object]`, never an empty text for what is not there. */
import type { Json } from "../../json.ts";
import type { SecretForm } from "../../secret-format/forms.ts";
import type { SecretUse, UnusableSecret } from "../template.ts";

/** A secret in an expression: no text of it, only which form is to stand there. */
export class SecretValue {
  readonly #use: SecretUse;
  readonly #form: SecretForm;

  constructor(use: SecretUse, form: SecretForm = "text") {
    this.#use = use;
    this.#form = form;
  }

  /** The same in another form. */
  as(form: SecretForm): SecretValue {
    return new SecretValue(this.#use, form);
  }

  /** What stands in its place. Throws where it can't be used. */
  toString(): string {
    const written = this.#use.ok ? this.#use.write(this.#form) : this.#use;
    if (!written.ok) throw new SecretFault(written);
    return written.text;
  }

  /** As {@link toString}, where it is the whole value. */
  toJSON(): string {
    return this.toString();
  }
}

/** That a secret can't be used. */
export class SecretFault extends Error {
  readonly secret: string;

  constructor({ name, message }: UnusableSecret) {
    super(message);
    this.secret = name;
  }
}

/** What stands in the middle of a text. A list or a map has no such form; `json` or `join` gives it one. */
export function toText(value: unknown): string {
  if (typeof value === "string") return value;
  if (value instanceof SecretValue) return value.toString();
  if (typeof value === "boolean" || (typeof value === "number" && Number.isFinite(value)))
    return String(value);
  if (value === null || value === undefined) throw new Error("this has no value");
  if (typeof value === "number") throw new Error("this is no number that can be written");
  throw new Error("a list or a map can't stand in a text; use the filter json or join");
}

/** The filter `json`: a value as JSON, which is also YAML and, for most programs, a quoted text. */
export function json(value: unknown): string {
  return JSON.stringify(value ?? null);
}

/** The value of a template that is one expression: what is no JSON is refused. */
export function toJson(value: unknown): Json {
  if (value === null || value === undefined) throw new Error("this has no value");
  if (typeof value === "number" && !Number.isFinite(value))
    throw new Error("this is no number that can be written");
  return JSON.parse(JSON.stringify(value)) as Json;
}

/** The filter `shell_quote`: one word of a POSIX shell, whatever is in it; of a list, a word for each item. */
export function shellQuote(value: unknown): string {
  if (Array.isArray(value)) return value.map(shellQuote).join(" ");
  return `'${toText(value).replaceAll("'", `'\\''`)}'`;
}
