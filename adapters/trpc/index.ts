/** The whole product as a tRPC router. */
export { appRouter } from "./router.ts";
export type { AppRouter } from "./router.ts";
export { createContextFactory } from "./context.ts";
export type { AuthenticatesCallers, ContextFactory, RequestContext, RequestInfo } from "./context.ts";
