/** What every answer that is no success says, and the headers beside it. */
import { describe, expect, it } from "vitest";
import { errorTable, OrchestratorError } from "fleetwright";
import type { ErrorCode } from "fleetwright";
import { problemHeaders, toProblem } from "../../../adapters/http/problem.ts";
import { httpStatusOf } from "../../../adapters/http/status.ts";

const codes = Object.keys(errorTable) as ErrorCode[];

describe("when a caller may try again", () => {
  it("is said with each refusal that passes by itself, and with no other", () => {
    const byStatus: Partial<Record<number, string>> = { 429: "1", 503: "5" };
    for (const code of codes) {
      const headers = problemHeaders(new OrchestratorError(code));
      const at = headers.indexOf("retry-after");
      expect(at < 0 ? undefined : headers[at + 1], code).toBe(byStatus[httpStatusOf[code]]);
    }
  });

  it.each([
    [12, "12"],
    [11.001, "12"],
    [0.2, "1"],
    [0, "1"],
    [-3, "1"],
    ["12", "1"],
    [null, "1"],
  ])("is never sooner than after the %j seconds that were told: %s", (retry_after_seconds, told) => {
    const error = new OrchestratorError("RATE_LIMITED", { details: { retry_after_seconds } });
    expect(problemHeaders(error)).toEqual(["retry-after", told]);
  });
});

it("who is not signed in is told how to sign in, and that their token is good no more", () => {
  const headersOf = (details: Record<string, string>): string[] =>
    problemHeaders(new OrchestratorError("UNAUTHENTICATED", { details }));
  expect(headersOf({})).toEqual(["www-authenticate", "Bearer"]);
  expect(headersOf({ reason: "no_token" })).toEqual(["www-authenticate", "Bearer"]);
  expect(headersOf({ reason: "invalid_token" })).toEqual([
    "www-authenticate",
    'Bearer error="invalid_token"',
  ]);
});

describe("a problem", () => {
  const issuesOf = (count: number) =>
    Array.from({ length: count }, (_, at) => ({ path: ["items", at], message: `Fault ${at}.` }));
  const invalid = (issues: ReturnType<typeof issuesOf>) =>
    toProblem(new OrchestratorError("VALIDATION_FAILED", { issues }), "r-1");

  it("has the page, the title and the status of its code, whatever it is", () => {
    for (const code of codes)
      expect(toProblem(new OrchestratorError(code, { message: "Why." }), "r-1")).toEqual({
        type: `/problems/${code.toLowerCase().replaceAll("_", "-")}`,
        title: errorTable[code].message,
        status: httpStatusOf[code],
        detail: "Why.",
        code,
        request_id: "r-1",
      });
  });

  it.each([
    [99, 99, "Fault 98."],
    [100, 100, "Fault 99."],
    [101, 101, "There is 1 more."],
    [2_000, 101, "There are 1900 more."],
  ])(
    "of %d faults names the first hundred, and says how many there are beside them",
    (count, named, last) => {
      const { errors = [] } = invalid(issuesOf(count));
      expect(errors).toHaveLength(named);
      expect(errors.at(-1)?.message).toBe(last);
    },
  );

  it("says where each fault is, with its line where it has one, and nothing of lines where it has none", () => {
    const issues = [
      { path: ["a/b", "c~d", 0], message: "x" },
      { path: ["~1"], message: "y", line: 3, column: 21 },
      { path: [], message: "z", line: 4 },
    ];
    expect(toProblem(new OrchestratorError("MODULE_INVALID", { issues }), "r-1").errors).toEqual([
      { pointer: "/a~1b/c~0d/0", message: "x" },
      { pointer: "/~01", message: "y", line: 3, column: 21 },
      { pointer: "", message: "z", line: 4 },
    ]);
  });

  it("repeats at most a thousand characters of each text that was sent", () => {
    const kept = "a".repeat(1_000);
    const textsOf = (length: number): string[] => {
      const text = "a".repeat(length);
      const issues = [{ path: [], message: text }];
      const { detail, errors } = toProblem(
        new OrchestratorError("NOT_FOUND", { message: text, issues }),
        "r-1",
      );
      const place = invalid([
        { path: ["a".repeat(length - 1), 0].slice(0, 1) as [string, number], message: "" },
      ]);
      return [detail, errors![0]!.message, place.errors![0]!.pointer];
    };
    expect(textsOf(1_000)).toEqual([kept, kept, `/${"a".repeat(999)}`]);
    expect(textsOf(1_001)).toEqual([`${kept}…`, `${kept}…`, `/${"a".repeat(999)}…`]);
  });
});
