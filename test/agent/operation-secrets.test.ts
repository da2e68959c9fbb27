import { inspect } from "node:util";
import { expect, it } from "vitest";
import { OrchestratorError } from "fleetwright";
import { withoutSecrets } from "../../lib/agent/operation-secrets.ts";
import { Redactor } from "../../lib/secret-format/redactor.ts";
import { RecordingLogger } from "../support/recording-logger.ts";

const value = "c4nary-of-an-operation";

it("what an operation logs holds its secrets nowhere: not in texts, fields, nor errors with all that they carry", () => {
  const logger = new RecordingLogger();
  const clean = withoutSecrets(logger, new Redactor([Buffer.from(value)]));
  const cause = new Error(`It said ${value}.`);
  const errors = [
    cause,
    new TypeError(value, { cause }),
    new OrchestratorError("HOST_ERROR", { message: value, details: { said: value }, cause }),
    Object.assign(new Error("failed"), { command: value, stack: `Error: failed\n  at ${value}` }),
  ];
  for (const level of ["debug", "info", "warn", "error"] as const)
    for (const error of errors)
      clean[level](`A resource said ${value}.`, { error, said: [value, { deep: value }] });
  expect(logger.lines).toHaveLength(16);
  const shown = inspect(logger.lines, { depth: Infinity, showHidden: true, maxStringLength: null });
  expect(shown).toContain("(sensitive)");
  expect(shown).not.toContain(value);
  // Who it was is still told.
  expect(logger.lines.map(({ fields }) => (fields!["error"] as Error).name)).toContain("TypeError");
});
