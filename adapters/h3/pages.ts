/** Health, the API reference, the format of modules, and the pages about problems. */
import type { EventHandler, H3, H3Event } from "h3";
import { isOrchestratorError, moduleJsonSchema, OrchestratorError, type Logger } from "fleetwright";
import type { ResourceTypes } from "fleetwright/ports";
import { acceptedRequestId } from "../http/request-id.ts";
import { toResponse } from "../rest/fetch.ts";
import type { OpenApiDocument } from "../rest/openapi/document.ts";
import { renderHome } from "../rest/pages/home.ts";
import { pageContentSecurityPolicy, styleSheetPath } from "../rest/pages/page.ts";
import { renderReference } from "../rest/pages/reference.ts";
import { styleSheet } from "../rest/pages/style.ts";
import {
  findProblemPage,
  renderProblemIndex,
  renderProblemPage,
  renderProblemText,
} from "../rest/problem-pages.ts";
import { PublicText } from "../rest/public-text.ts";
import { createReplies } from "../rest/replies.ts";

/**
 * Whether requests can be served. May throw the `OrchestratorError` that says why they can't; its code decides the status. Any other error,
 * such as that of a storage of one's own, is `UNAVAILABLE`.
 */
export type AppReadiness = () => boolean | Promise<boolean>;

/** Where pages are mounted. */
export interface PageMount {
  h3: H3;
  mountPath: string;
  /** Makes the id of a request that brings none. */
  createRequestId: () => string;
}

/** Serves a path to GET and HEAD; tells everyone else that these are its methods. */
export function mountRead(
  { h3, mountPath, createRequestId }: PageMount,
  path: string,
  answer: EventHandler,
): void {
  const replies = createReplies("");
  h3.all(mountPath + path, (event) => {
    const { method, headers } = event.req;
    if (method === "GET" || method === "HEAD") return answer(event);
    const requestId = acceptedRequestId(headers.get("x-request-id")) ?? createRequestId();
    return toResponse(replies.otherMethod(method, ["GET"], requestId));
  });
}

/** Serves `/livez` (the process runs) and `/readyz` (requests can be served: 200, or 503 with the reason). */
export function mountHealth(mount: PageMount, isReady: AppReadiness, logger: Logger): void {
  mountRead(mount, "/livez", () => ({ status: "ok" }));
  mountRead(mount, "/readyz", async () => {
    if (!(await askReady(isReady, logger))) throw notReady();
    return { status: "ok" };
  });
}

async function askReady(isReady: AppReadiness, logger: Logger): Promise<boolean> {
  try {
    return await isReady();
  } catch (error) {
    if (isOrchestratorError(error)) throw error;
    logger.error("The service is not ready.", { error });
    throw notReady(error);
  }
}

function notReady(cause?: unknown): OrchestratorError {
  return new OrchestratorError("UNAVAILABLE", { message: "The service is not ready.", cause });
}

/** Serves a page at the root, for whoever opens the address of the server. */
export function mountHome(mount: PageMount): void {
  const home = new PublicText(() => renderHome(mount.mountPath));
  mountRead(mount, "/", (event) => toPage(event, home));
}

/** Serves the API reference at `/docs`, written here, once, when it is first asked for. */
export function mountReference(mount: PageMount, describe: () => Promise<OpenApiDocument>): void {
  const reference = new PublicText(async () => renderReference(await describe(), mount.mountPath));
  const style = new PublicText(styleSheet);
  mountRead(mount, "/docs", (event) => toPage(event, reference));
  mountRead(mount, styleSheetPath, (event) => toAnswer(event, style, "text/css; charset=utf-8"));
}

/** Serves `/problems` and a page for each error code below it: HTML, or to whoever accepts only that, JSON or plain text. */
export function mountProblemPages(mount: PageMount): void {
  const { mountPath } = mount;
  const index = new PublicText(() => renderProblemIndex(mountPath));
  const texts = new Map<string, PublicText>();
  const textOf = (key: string, render: () => string): PublicText => {
    const text = texts.get(key) ?? new PublicText(render());
    texts.set(key, text);
    return text;
  };
  mountRead(mount, "/problems", (event) => toPage(event, index));
  mountRead(mount, "/problems/:slug", (event) => {
    const slug = event.context.params?.["slug"] ?? "";
    const page = findProblemPage(slug);
    if (page === null) throw new OrchestratorError("NOT_FOUND", { message: "There is no such problem." });
    event.res.headers.append("vary", "accept");
    const accepted = event.req.headers.get("accept") ?? "";
    if (accepted.includes("json")) return { ...page };
    if (accepted.startsWith("text/plain"))
      return toAnswer(
        event,
        textOf(`${slug}.txt`, () => renderProblemText(page)),
        "text/plain; charset=utf-8",
      );
    return toPage(
      event,
      textOf(slug, () => renderProblemPage(page, mountPath)),
    );
  });
}

/**
 * Serves `/schemas/module.json`, the format of modules as JSON Schema, to every editor that asks. It is made when it is first asked for: it
 * takes longer than all else of the app, and most servers are never asked.
 */
export function mountSchemas(mount: PageMount, types?: ResourceTypes): void {
  const schema = new PublicText(() => JSON.stringify(moduleJsonSchema(types)));
  mountRead(mount, "/schemas/module.json", (event) => {
    event.res.headers.set("access-control-allow-origin", "*");
    event.res.headers.set("cache-control", "public, max-age=3600");
    return toAnswer(event, schema, "application/schema+json");
  });
}

/** Tells whoever calls the path of a WebSocket without opening one what it is for. */
export function mountSocketHint({ h3 }: PageMount, path: string): void {
  h3.all(path, () => {
    throw new OrchestratorError("UPGRADE_REQUIRED");
  });
}

function toPage(event: H3Event, text: PublicText): Promise<string | Uint8Array> {
  event.res.headers.set("content-security-policy", pageContentSecurityPolicy);
  return toAnswer(event, text, "text/html; charset=utf-8");
}

async function toAnswer(event: H3Event, text: PublicText, type: string): Promise<string | Uint8Array> {
  const { headers } = event.res;
  const { body, encoding } = await text.for(event.req.headers.get("accept-encoding"));
  headers.set("content-type", type);
  // A page is the same until the next version: browsers may keep it for a while.
  if (!headers.has("cache-control")) headers.set("cache-control", "max-age=300");
  headers.append("vary", "accept-encoding");
  if (encoding !== null) headers.set("content-encoding", encoding);
  return body;
}
