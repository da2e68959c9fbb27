import { TRPCError } from "@trpc/server";
import { getHTTPStatusCodeFromError } from "@trpc/server/http";
import { describe, expect, test } from "vitest";
import { errorTable, OrchestratorError } from "fleetwright";
import type { ErrorCode } from "fleetwright";
import { problemSlug } from "../../../adapters/http/problem.ts";
import { httpStatusOf } from "../../../adapters/http/status.ts";
import { findProblemPage, renderProblemPage } from "../../../adapters/rest/problem-pages.ts";
import { toOrchestratorError, toTrpcError } from "../../../adapters/trpc/error-map.ts";

/** Codes of requests that no procedure sees, with statuses that tRPC has no code for. */
const beforeTrpc: ReadonlySet<ErrorCode> = new Set([
  "URL_TOO_LONG",
  "HEADERS_TOO_LARGE",
  "REQUEST_TIMEOUT",
  "UPGRADE_REQUIRED",
  "MISDIRECTED",
]);
const codes = Object.keys(errorTable) as ErrorCode[];

test.each(codes.filter((code) => !beforeTrpc.has(code)))(
  "%s has the same status over tRPC as over REST",
  (code) => {
    expect(getHTTPStatusCodeFromError(toTrpcError(new OrchestratorError(code)))).toBe(httpStatusOf[code]);
  },
);

describe.each(codes)("%s", (code) => {
  test("has a page", () => {
    const page = findProblemPage(problemSlug(code));
    expect(page).toMatchObject({ code, status: httpStatusOf[code] });
    expect(page && renderProblemPage(page)).toContain(code);
  });
});

describe("errors that are not ours", () => {
  test("an unknown error says nothing of itself and keeps its cause", () => {
    const cause = new Error("password");
    const error = toOrchestratorError(cause);
    expect(error).toMatchObject({ code: "INTERNAL", message: errorTable.INTERNAL.message, cause });
  });

  test("an error of ours survives being wrapped", () => {
    const ours = new OrchestratorError("IN_USE", { details: { used_by: ["a"] } });
    expect(toOrchestratorError(toTrpcError(ours))).toBe(ours);
    expect(toOrchestratorError(new TRPCError({ code: "INTERNAL_SERVER_ERROR", cause: ours }))).toBe(ours);
  });

  test.each([
    ["PARSE_ERROR", "VALIDATION_FAILED"],
    ["METHOD_NOT_SUPPORTED", "METHOD_NOT_ALLOWED"],
    ["UNSUPPORTED_MEDIA_TYPE", "UNSUPPORTED_MEDIA_TYPE"],
    ["TOO_MANY_REQUESTS", "RATE_LIMITED"],
    ["SERVICE_UNAVAILABLE", "UNAVAILABLE"],
  ] as const)("%s of tRPC is %s, in tRPC's words", (code, ours) => {
    const error = new TRPCError({ code, message: "Not so." });
    expect(toOrchestratorError(error)).toMatchObject({ code: ours, message: "Not so.", cause: error });
  });

  test("a code of tRPC that we have no word for is INTERNAL, and keeps what is behind it", () => {
    const cause = new Error("password");
    const error = new TRPCError({ code: "BAD_GATEWAY", message: "password", cause });
    const { message } = errorTable.INTERNAL;
    expect(toOrchestratorError(error)).toMatchObject({ code: "INTERNAL", message, cause });
    const bare = new TRPCError({ code: "BAD_GATEWAY" });
    expect(toOrchestratorError(bare)).toMatchObject({ code: "INTERNAL", message, cause: bare });
  });

  test("a body found too large while tRPC reads it is not a broken input", () => {
    const cause = Object.assign(new Error(), { status: 413 });
    const error = new TRPCError({ code: "PARSE_ERROR", cause });
    expect(toOrchestratorError(error)).toMatchObject({ code: "PAYLOAD_TOO_LARGE", cause: error });
  });

  test("an error with a schema's faults is VALIDATION_FAILED only where the input was at fault", () => {
    const cause = Object.assign(new Error(), { issues: [{ path: ["a", 0], message: "wrong" }] });
    expect(toOrchestratorError(new TRPCError({ code: "BAD_REQUEST", cause }))).toMatchObject({
      code: "VALIDATION_FAILED",
      issues: [{ path: ["a", 0], message: "wrong" }],
    });
    expect(toOrchestratorError(new TRPCError({ code: "INTERNAL_SERVER_ERROR", cause })).code).toBe(
      "INTERNAL",
    );
  });
});
