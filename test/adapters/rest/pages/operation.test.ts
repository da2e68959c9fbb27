import { expect, test } from "vitest";
import { prose } from "../../../../adapters/rest/pages/html.ts";
import { renderOperation, type ShownOperation } from "../../../../adapters/rest/pages/operation.ts";
import { renderPage } from "../../../../adapters/rest/pages/page.ts";
import { renderProperty, type ShownSchema } from "../../../../adapters/rest/pages/schema-list.ts";

const context = { base: "/api/v1", mountPath: "", responses: {} };
const bare: ShownOperation = { method: "get", path: "/agents", responses: { 200: {} } };

/** What a reader sees: the text without its tags, on one line. */
const textOf = (html: string): string =>
  html
    .replaceAll(/<[^>]*>/g, " ")
    .replaceAll("&quot;", '"')
    .replaceAll("&#39;", "'")
    .replaceAll(/\s+/g, " ")
    .trim();

const shown = (operation: Partial<ShownOperation>): string =>
  textOf(renderOperation({ ...bare, ...operation }, context).text);

test("a call to copy has method, path and query, and a token unless none is needed", () => {
  const parameters = [
    { name: "node_id", in: "path", example: "a/1" },
    { name: "other", in: "path" },
    { name: "tag", in: "query", example: ["x", "y z"] },
    { name: "limit", in: "query" },
  ];
  const path = "/agents/{node_id}/{other}";
  expect(shown({ path, parameters })).toContain(
    `curl "$URL/api/v1/agents/a%2F1/{other}?tag=x&amp;tag=y+z" \\ -H "Authorization: Bearer $TOKEN"`,
  );
  const open = shown({ method: "post", security: [] });
  expect(open).toContain(`curl -X POST "$URL/api/v1/agents"`);
  expect(open).not.toContain("Authorization");
});

test("only the places are named that have a parameter, and a body only where it has fields", () => {
  const query = shown({ parameters: [{ name: "limit", in: "query" }] });
  expect(query).toContain("In the query");
  expect(query).not.toMatch(/In the path|Headers|Body/);
  const bodyOf = (schema: ShownSchema) =>
    shown({ requestBody: { content: { "application/json": { schema } } } });
  expect(bodyOf({ type: "object", properties: { name: { type: "string" } } })).toContain("Body name string");
  expect(bodyOf({ type: "object" })).not.toContain("Body");
});

test.each<[ShownSchema, string]>([
  [{ type: "integer", minimum: 1, maximum: 9 }, "n integer 1 to 9"],
  [{ type: "string", minLength: 2 }, "n string at least 2 characters"],
  [{ type: "array", items: { type: "string" }, maxItems: 3 }, "n list of string at most 3 items"],
  [{ type: "string", maxLength: 5, pattern: "^a" }, "n string at most 5 characters; matches ^a"],
  [{ type: "string", pattern: "^a" }, "n string matches ^a"],
  [{ type: "string" }, "n string"],
])("the property %j is shown as %s", (property, text) => {
  expect(textOf(renderProperty({ name: "n", property, isRequired: false }).text)).toBe(text);
});

test("properties of properties are shown down to the third level", () => {
  const nested = (depth: number): ShownSchema =>
    depth === 0
      ? { type: "string" }
      : { type: "object", properties: { [`level-${5 - depth}`]: nested(depth - 1) } };
  const text = textOf(renderProperty({ name: "top", property: nested(4), isRequired: true }).text);
  expect(text).toBe("top object required level-1 object level-2 object");
});

test("a text has its code and its paragraphs", () => {
  expect(prose("Takes `a < b`, or `c`.\n\nAnd more.").text.replaceAll(/\s+/g, " ")).toBe(
    "<p>Takes <code>a &lt; b</code>, or <code>c</code>.</p><p>And more.</p>",
  );
});

test("a page has room for what stands at its side where there is something", () => {
  const page = { title: "t", mountPath: "/fleet", body: prose("text") };
  expect(renderPage({ ...page, side: null })).toContain('<div class="plain">');
  expect(renderPage({ ...page, side: prose("links") })).toMatch(
    /<div class="with-side">\s*<aside><p>links<\/p><\/aside>/,
  );
});
