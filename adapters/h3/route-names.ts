/** Which verb a request calls: a bounded set of names, whatever strangers ask for. */
import type { AnyRouter } from "@trpc/server";
import { createRouteTable } from "../rest/routes.ts";

/** What a request is about. */
export interface RouteName {
  surface: "rest" | "trpc" | "other";
  /** The verb, e.g. `agents.list`; a path of ours without parameters; or "other". */
  route: string;
}

/** Names what requests are about. */
export interface RouteNames {
  of(method: string, url: string): RouteName;
}

/** Pages and checks beside the verbs. */
const pages = new Set(["/livez", "/readyz", "/metrics", "/docs", "/problems", "/"]);
const other: RouteName = { surface: "other", route: "other" };

/** Makes names of the verbs of a router, mounted where a server mounts it. */
export function createRouteNames(router: AnyRouter): RouteNames {
  const table = createRouteTable(router);
  const procedures = new Set(Object.keys(router._def.procedures as object));
  return {
    of(method, url) {
      const [path = ""] = url.split("?", 1);
      if (path.startsWith("/api/v1/")) {
        const methods = table.find(path.slice("/api/v1".length))?.methods;
        const route = methods?.get(method === "HEAD" ? "GET" : method);
        return { surface: "rest", route: route?.name ?? "other" };
      }
      if (path.startsWith("/trpc/")) {
        const name = path.slice("/trpc/".length);
        if (procedures.has(name)) return { surface: "trpc", route: name };
        return { surface: "trpc", route: name.includes(",") ? "batch" : "other" };
      }
      return pages.has(path) ? { surface: "other", route: path } : other;
    },
  };
}
