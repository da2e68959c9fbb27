/** The forms in which a template may write a secret. The agent makes them: the orchestrator only names them. */
import { toBase64 } from "../crypto/encoding.ts";

/** How a value stands in a text: as it is, or as one of the filters `json`, `shell_quote`, `base64_encode` and `url_encode` writes it. */
export type SecretForm = "text" | "json" | "shell" | "base64" | "url";

/** The filters of templates that a secret may go through, and the form that each asks for. */
export const formOfFilter: Readonly<Record<string, SecretForm>> = {
  json: "json",
  shell_quote: "shell",
  base64_encode: "base64",
  url_encode: "url",
};

/** Reads bytes as UTF-8; null where they are none. */
export function asText(value: Uint8Array): string | null {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(value);
  } catch {
    return null;
  }
}

/** Writes a value in a form; null where the form asks for text and the value is none. */
export function toForm(value: Uint8Array, form: SecretForm): string | null {
  if (form === "base64") return toBase64(value);
  const text = asText(value);
  if (text === null) return null;
  switch (form) {
    case "text":
      return text;
    case "json":
      return JSON.stringify(text);
    case "shell":
      return `'${text.replaceAll("'", `'\\''`)}'`;
    case "url":
      // As the filter `url_encode` writes it.
      return encodeURIComponent(text).replaceAll("%20", "+");
  }
}
