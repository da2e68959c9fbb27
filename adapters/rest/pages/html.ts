/** HTML that can't forget to escape: whatever is put into a template is text, unless it is such HTML itself. */

/** A piece of HTML. */
export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** What may stand in a template; null, undefined and false leave nothing. */
type Part = Html | string | number | null | undefined | false | readonly Part[];

/** Makes HTML from a template. Attributes must be quoted. */
export function markup(parts: TemplateStringsArray, ...values: readonly Part[]): Html {
  return new Html(parts.map((part, index) => part + toText(values[index] ?? null)).join(""));
}

/** Escapes a text for an element or a quoted attribute. */
export function escapeHtml(text: string): string {
  return text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;")
    .replaceAll("'", "&#39;");
}

/** Text with the little Markdown that descriptions use: `code` and blank lines. */
export function prose(text: string): Html {
  const paragraphs = text.split(/\n\n+/).map((paragraph) => {
    const pieces = paragraph.split("`").map((piece, index) => {
      return index % 2 === 1 ? markup`<code>${piece}</code>` : markup`${piece}`;
    });
    return markup`<p>${pieces}</p>`;
  });
  return markup`${paragraphs}`;
}

function toText(value: Part): string {
  if (value instanceof Html) return value.text;
  if (value === null || value === undefined || value === false) return "";
  if (typeof value === "object") return value.map((part) => toText(part)).join("");
  return escapeHtml(String(value));
}
