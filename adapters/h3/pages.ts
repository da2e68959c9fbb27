/** Health, the API reference, the format of modules, and the pages about problems. */
import { moduleJsonSchema, OrchestratorError } from "fleetwright";
import type { H3, H3Event } from "h3";
import type { OpenAPIObject } from "trpc-to-openapi";
import { pageContentSecurityPolicy, styleSheetPath } from "../rest/pages/page.ts";
import { renderReference } from "../rest/pages/reference.ts";
import { styleSheet } from "../rest/pages/style.ts";
import { findProblemPage, renderProblemIndex, renderProblemPage } from "../rest/problem-pages.ts";

/** Whether requests can be served. May throw the `OrchestratorError` that says why they can't; its code decides the status. */
export type AppReadiness = () => boolean | Promise<boolean>;

/** Serves `/livez` (the process runs) and `/readyz` (requests can be served: 200, or 503 with the reason). */
export function mountHealth(h3: H3, isReady: AppReadiness, mountPath: string): void {
  h3.get(`${mountPath}/livez`, () => ({ status: "ok" }));
  h3.get(`${mountPath}/readyz`, async () => {
    const ready = await isReady();
    if (!ready) throw new OrchestratorError("UNAVAILABLE", { message: "The service is not ready." });
    return { status: "ok" };
  });
}

/** Serves the API reference at `/docs`, written here, once. */
export function mountReference(h3: H3, description: OpenAPIObject, mountPath: string): void {
  const reference = renderReference(description, mountPath);
  h3.get(`${mountPath}/docs`, (event) => toPage(event, reference));
  h3.get(mountPath + styleSheetPath, (event) => toAnswer(event, styleSheet, "text/css; charset=utf-8"));
}

/** Serves `/problems` and a page for each error code below it: HTML, or JSON to whoever accepts that. */
export function mountProblemPages(h3: H3, mountPath: string): void {
  h3.get(`${mountPath}/problems`, (event) => toPage(event, renderProblemIndex(mountPath)));
  h3.get(`${mountPath}/problems/:slug`, (event) => {
    const page = findProblemPage(event.context.params?.["slug"] ?? "");
    if (page === null) throw new OrchestratorError("NOT_FOUND", { message: "There is no such problem." });
    const wantsJson = event.req.headers.get("accept")?.includes("json") === true;
    return wantsJson ? { ...page } : toPage(event, renderProblemPage(page, mountPath));
  });
}

/** Serves `/schemas/module.json`, the format of modules as JSON Schema, to every editor that asks. */
export function mountSchemas(h3: H3, mountPath: string): void {
  const schema = JSON.stringify(moduleJsonSchema());
  const headers = {
    "content-type": "application/schema+json",
    "access-control-allow-origin": "*",
    "cache-control": "public, max-age=3600",
  };
  h3.get(`${mountPath}/schemas/module.json`, () => new Response(schema, { headers }));
}

function toPage(event: H3Event, text: string): string {
  event.res.headers.set("content-security-policy", pageContentSecurityPolicy);
  return toAnswer(event, text, "text/html; charset=utf-8");
}

/** A page is the same until the next version: browsers may keep it for a while. */
function toAnswer(event: H3Event, text: string, type: string): string {
  event.res.headers.set("content-type", type);
  event.res.headers.set("cache-control", "max-age=300");
  return text;
}
