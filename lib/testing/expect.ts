/** Assertions for suites that any test runner can run. */
import { isOrchestratorError, type ErrorCode } from "../errors.ts";

/** Rejects what is not so. */
export function assertThat(condition: boolean, message: string): asserts condition {
  if (!condition) throw new Error(message);
}

/** Compares as JSON. */
export function assertEqual(actual: unknown, expected: unknown, what: string): void {
  const [a, b] = [JSON.stringify(actual), JSON.stringify(expected)];
  if (a !== b) throw new Error(`${what}: expected ${b}, got ${a}`);
}

/** Expects an error of the package, and returns its details. */
export function assertThrows(act: () => unknown, code: ErrorCode): Record<string, unknown> {
  try {
    act();
  } catch (error) {
    if (isOrchestratorError(error, code)) return error.details;
    throw new Error(`expected ${code}, got ${String(error)}`, { cause: error });
  }
  throw new Error(`expected ${code}, got no error`);
}
