/** Which errors stay until somebody changes something, and after which what nobody waits for is tried again: told of every code there is. */
import { expect, it } from "vitest";
import { OrchestratorError } from "fleetwright";
import { errorTable, type ErrorCode } from "../../lib/errors.ts";
import { isLasting, mayPass } from "../../lib/internal/is-lasting.ts";
import { retryOnConflict } from "../../lib/internal/retry-on-conflict.ts";

const codes = Object.keys(errorTable) as ErrorCode[];
const retryable = codes.filter((code) => errorTable[code].retryable);

it("faults of the program, of the storage, and what may be over in a moment say nothing of what was asked", () => {
  const passing = codes.filter((code) => !isLasting(new OrchestratorError(code)));
  const ofStorage = [
    "STORAGE_CLOSED",
    "STORAGE_CORRUPT",
    "STORAGE_FAILED",
    "STORAGE_FULL",
    "STORAGE_LOCKED",
    "STORAGE_VERSION_UNSUPPORTED",
  ];
  expect(passing.toSorted()).toEqual([...new Set(["INTERNAL", ...ofStorage, ...retryable])].toSorted());
  expect(isLasting(new Error("of another program"))).toBe(false);
});

it("what may be over in a moment, and a storage that failed once, is tried again, as what is no error of ours", () => {
  const again = codes.filter((code) => mayPass(new OrchestratorError(code)));
  expect(again.toSorted()).toEqual([...new Set(["STORAGE_FAILED", ...retryable])].toSorted());
  expect(mayPass(new Error("of another program"))).toBe(true);
});

it.each([0, 1, 98, 99, 100, 500])(
  "a change that meets %i others at once is made, or given up at the hundredth try",
  async (conflicts) => {
    const befores: number[] = [];
    const outcome = await retryOnConflict((before) => {
      befores.push(before);
      if (before < conflicts) return Promise.reject(new OrchestratorError("REVISION_CONFLICT"));
      return Promise.resolve("made");
    }).catch((error: OrchestratorError) => error.code);
    expect(outcome).toBe(conflicts < 100 ? "made" : "REVISION_CONFLICT");
    expect(befores).toEqual(Array.from({ length: Math.min(conflicts + 1, 100) }, (_, at) => at));
  },
);

it("a change that fails for another reason is not tried again", async () => {
  let tries = 0;
  const fail = (): Promise<never> => {
    tries += 1;
    return Promise.reject(new OrchestratorError("IN_USE"));
  };
  await expect(retryOnConflict(fail)).rejects.toMatchObject({ code: "IN_USE" });
  expect(tries).toBe(1);
});
