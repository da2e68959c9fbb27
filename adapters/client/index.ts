/** A typed client of the REST surface. Runs in Node and in browsers. */
export { createClient } from "./client.ts";
export type { Client, ClientOptions, OperatorSigner } from "./client.ts";
export { ApiError } from "./api-error.ts";
export type { ApiProblem, ProblemFault } from "./api-error.ts";
export type { Fetch, Query, RequestExtras } from "./http.ts";
export type { RunInput, SessionInfo, UploadedModule, Verbs } from "./verbs.ts";
