/** Health, and the pages about problems. */
import { moduleJsonSchema, OrchestratorError } from "fleetwright";
import type { H3 } from "h3";
import { findProblemPage, renderProblemIndex, renderProblemPage } from "../rest/problem-pages.ts";

/** Serves `/livez` (the process runs) and `/readyz` (requests can be served: 200, or 503 with the reason). */
export function mountHealth(h3: H3, isReady: AppReadiness): void {
  h3.get("/livez", () => ({ status: "ok" }));
  h3.get("/readyz", async () => {
    const ready = await isReady();
    if (!ready) throw new OrchestratorError("UNAVAILABLE", { message: "The service is not ready." });
    return { status: "ok" };
  });
}

/** Whether requests can be served. May throw the `OrchestratorError` that says why they can't; its code decides the status. */
export type AppReadiness = () => boolean | Promise<boolean>;

/** Serves `/problems` and a page for each error code below it: HTML, or JSON to whoever accepts that. */
export function mountProblemPages(h3: H3): void {
  h3.get("/problems", () => html(renderProblemIndex()));
  h3.get("/problems/:slug", (event) => {
    const page = findProblemPage(event.context.params?.["slug"] ?? "");
    if (page === null) throw new OrchestratorError("NOT_FOUND", { message: "There is no such problem." });
    const wantsJson = event.req.headers.get("accept")?.includes("json") === true;
    return wantsJson ? { ...page } : html(renderProblemPage(page));
  });
}

/** Serves `/schemas/module.json`, the format of modules as JSON Schema, to every editor that asks. */
export function mountSchemas(h3: H3): void {
  const schema = JSON.stringify(moduleJsonSchema());
  const headers = {
    "content-type": "application/schema+json",
    "access-control-allow-origin": "*",
    "cache-control": "public, max-age=3600",
  };
  h3.get("/schemas/module.json", () => new Response(schema, { headers }));
}

function html(text: string): Response {
  return new Response(text, { headers: { "content-type": "text/html; charset=utf-8" } });
}
