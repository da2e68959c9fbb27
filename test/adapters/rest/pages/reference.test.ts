import { describe, expect, it } from "vitest";
import { errorTable } from "fleetwright";
import { createTestOrchestrator } from "fleetwright/testing";
import { createOpenApiDocument } from "../../../../adapters/rest/openapi.ts";
import { renderReference } from "../../../../adapters/rest/pages/reference.ts";
import { restProcedures } from "../../../../adapters/rest/routes.ts";
import { appRouter } from "../../../../adapters/trpc/router.ts";
import { serve } from "../../../support/server.ts";

const document = await createOpenApiDocument(appRouter);
const page = renderReference(document);
const all = (pattern: RegExp): string[] => [...page.matchAll(pattern)].map(([, found]) => found ?? "");

describe("the API reference", () => {
  it("has a section for each operation and each schema, under its own name", () => {
    const ids = all(/ id="([^"]+)"/g);
    expect(new Set(ids).size).toBe(ids.length);
    const operations = restProcedures(appRouter).map(([name]) => name.replace(".", "-"));
    const schemas = Object.keys(document.components?.schemas ?? {}).map((name) => `schema-${name}`);
    expect(ids).toEqual(expect.arrayContaining([...operations, ...schemas]));
  });

  it("has no link that leads nowhere", () => {
    const ids = new Set(all(/ id="([^"]+)"/g));
    const links = all(/ href="([^"]+)"/g);
    expect(links.length).toBeGreaterThan(200);
    const codes = Object.keys(errorTable).map((code) => code.toLowerCase().replaceAll("_", "-"));
    const known = ["/docs", "/docs/style.css", "/problems", "/api/v1/openapi.json"];
    const pages = new Set([...known, ...codes.map((code) => `/problems/${code}`)]);
    expect(
      links.filter((link) => !(link.startsWith("#") ? ids.has(link.slice(1)) : pages.has(link))),
    ).toEqual([]);
  });

  it("needs no script and no style of its own, so that the policy can forbid both", () => {
    expect(page).not.toMatch(/<script|<style| style=| on[a-z]+="/i);
    expect(page).not.toMatch(/(src|href)="(https?:)?\/\//);
  });

  it("shows a call to copy and the answer to it", () => {
    const start = page.indexOf('id="modules-upload"');
    const section = page.slice(start, page.indexOf("</article>", start));
    expect(section).toContain("curl -X POST &quot;$URL/api/v1/modules&quot;");
    expect(section).toContain("Authorization: Bearer $TOKEN");
    expect(section).toContain("The web server&#39;\\&#39;&#39;s configuration");
    expect(section).toContain("/problems/module-invalid");
  });

  it("shows whatever a description says as text", () => {
    const evil = `"><script>alert('x')</script>`;
    const shown = renderReference({
      openapi: "3.1.0",
      info: { title: evil, version: evil, description: evil },
      tags: [{ name: evil, description: evil }],
      paths: {
        [`/${evil}`]: {
          get: {
            operationId: evil,
            summary: evil,
            description: evil,
            tags: [evil],
            parameters: [
              { name: evil, in: "query", description: evil, schema: { type: "string", pattern: evil } },
            ],
            responses: {
              200: { description: evil, content: { [evil]: { schema: { $ref: evil }, example: evil } } },
            },
          },
        },
      },
    });
    expect(shown).not.toContain("<script");
    expect(shown).not.toContain(evil);
  });
});

describe("the pages on a server", () => {
  it("allow themselves their own style sheet and nothing else", async () => {
    await using product = await createTestOrchestrator();
    await using server = await serve(product.orchestrator);
    const paths = ["/docs", "/problems", "/problems/not-found"];
    for (const path of paths) {
      const { status, headers, text } = await server.call({ path });
      expect(status).toBe(200);
      expect(headers["content-type"]).toBe("text/html; charset=utf-8");
      expect(headers["content-security-policy"]).toMatch(/^default-src 'none'; style-src 'self'; /);
      expect(text).toContain('<link rel="stylesheet" href="/docs/style.css"');
    }
    const style = await server.call({ path: "/docs/style.css" });
    expect([style.status, style.headers["content-type"]]).toEqual([200, "text/css; charset=utf-8"]);
    expect(style.text).not.toMatch(/@import|url\(/);
  });

  it("have one about each code, which says what the table says", async () => {
    await using product = await createTestOrchestrator();
    await using server = await serve(product.orchestrator);
    const { text: index } = await server.call({ path: "/problems" });
    for (const [code, { message }] of Object.entries(errorTable)) {
      const path = `/problems/${code.toLowerCase().replaceAll("_", "-")}`;
      expect(index).toContain(`href="${path}"`);
      const { status, text } = await server.call({ path });
      expect(status, path).toBe(200);
      expect(text).toContain(code);
      expect(text).toContain(message.replaceAll("'", "&#39;"));
    }
    expect((await server.call({ path: "/problems/nonsense" })).status).toBe(404);
  });
});
