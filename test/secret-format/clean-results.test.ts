/** What a result and an error quote of a machine is told without secrets, each text of it. */
import { expect, it } from "vitest";
import { cleanError, cleanResult } from "../../lib/secret-format/clean-results.ts";
import { Redactor } from "../../lib/secret-format/redactor.ts";
import { hidden, type ResourceResult } from "../../lib/state/result.ts";

const secret = "hunter2hunter2";
const redactor = new Redactor([new Uint8Array(Buffer.from(secret))]);

/** A result that quotes a text wherever one may stand, and is called as the secret itself. */
function resultWith(text: string, about: { message?: string; changes?: boolean }): ResourceResult {
  return {
    module: secret,
    resource_id: secret,
    type: "file",
    identity: secret,
    outcome: "changed",
    action: "update",
    caused_by: [secret],
    attempts: 1,
    duration_ms: 1,
    changes:
      about.changes === false
        ? []
        : [
            { property: secret, before: null, after: `a ${text}` },
            { property: "b", before: [`b ${text}`, { deep: `c ${text}` }], after: 7, diff: `-d ${text}` },
          ],
    ...(about.message !== undefined && { message: about.message }),
  };
}

it.each([
  ["changes and a message", { message: `it said ${secret}` }, { message: `it said ${hidden}` }],
  ["changes alone", {}, {}],
  [
    "a message alone",
    { message: `it said ${secret}`, changes: false },
    { message: `it said ${hidden}`, changes: false },
  ],
])("a result of %s", (_, about, clean) => {
  expect(cleanResult(resultWith(secret, about), redactor)).toEqual(resultWith(hidden, clean));
});

it("a result that quotes nothing, or of what has no secrets, stays the same", () => {
  const result = resultWith(secret, { message: secret });
  expect(cleanResult(result, new Redactor([]))).toBe(result);
  const empty = resultWith(secret, { changes: false });
  expect(cleanResult(empty, redactor)).toBe(empty);
});

it("an error, its details included, and its code as it is", () => {
  const error = { code: secret, message: `no ${secret}`, details: { stderr: [`x ${secret}`], exit_code: 1 } };
  expect(cleanError(error, redactor)).toEqual({
    code: secret,
    message: `no ${hidden}`,
    details: { stderr: [`x ${hidden}`], exit_code: 1 },
  });
  expect(cleanError({ message: secret }, redactor)).toEqual({ message: hidden });
});
