/** The REST surface and its OpenAPI description, derived from a router. */
export { createRestHandler } from "./handler.ts";
export type { RestOptions } from "./handler.ts";
export type { RestHandler, RestReply, RestRequest } from "./message.ts";
export { createRestFetch } from "./fetch.ts";
export { createRestListener } from "./node.ts";
export { createOpenApiDocument } from "./openapi.ts";
export type { OpenApiOptions } from "./openapi.ts";
export type { Problem, ProblemFault } from "../http/problem.ts";
