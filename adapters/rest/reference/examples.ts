/**
 * One call of each procedure and what a server answered, for the OpenAPI description. Recorded, not written: a test plays them all
 * against a live server and compares (test/adapters/openapi-examples.test.ts; with `-u` it records them anew).
 */
import type { OperationExample } from "../openapi-examples.ts";

// prettier-ignore
export const operationExamples: Readonly<Record<string, OperationExample>> = {
};
