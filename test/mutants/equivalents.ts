/** Mutants that no test can kill, because a program with them behaves as one without: each with the reason. */

/** An equivalent mutant, by what stands where and what a mutator puts there. */
export interface Equivalent {
  file: string;
  /** The line that it is in, as it stands there, without what is around it. */
  line: string;
  replacement: string;
  reason: string;
}

export const equivalents: readonly Equivalent[] = [
  {
    file: "lib/idempotency/idempotency-service.ts",
    line: `await this.#keep(claim, "refused", { code, message, details, issues });`,
    replacement: `""`,
    reason: "What is none of the other three states is answered as a refusal.",
  },
];
