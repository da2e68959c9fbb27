import { errorGuide, errorTable, type ErrorCode } from "fleetwright";
import { httpStatusOf } from "../../adapters/http/status.ts";

const head = `# Error codes

Everything that Fleetwright refuses or fails on purpose carries one of these codes: as \`code\` of an \`OrchestratorError\` in a
program, as \`code\` of the \`application/problem+json\` answer of the REST surface, and in \`data.problem\` of a tRPC error. A code is
stable; the message beside it is for people and may change. _Retryable_ means that the same call may succeed later
without the caller changing anything.

Check for a code with \`isOrchestratorError(error, "NOT_FOUND")\`, not with \`instanceof\`: it also works when two copies of the
package are loaded. A server explains each code at \`/problems/<code>\` (\`/problems/not-found\`), and a program has the same texts as
\`errorGuide\`, which this page is written from.
`;

/** docs/errors.md as the tables say it. */
export function renderErrorDocs(): string {
  const sections = (Object.keys(errorTable) as ErrorCode[]).map((code) => {
    const { meaning, cause, advice } = errorGuide[code];
    const retryable = errorTable[code].retryable ? " _Retryable._" : "";
    return `## ${code}\n\n${meaning} HTTP ${httpStatusOf[code]}.${retryable}\n\n- Cause: ${cause}\n- What to do: ${advice}\n`;
  });
  return [head, ...sections].join("\n");
}
