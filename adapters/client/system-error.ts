import { constants } from "node:os";

/**
 * The system's name of an error, e.g. `ENOENT`; `unknown` where it has none. Node calls all `UNKNOWN` that it does not know, a
 * used up quota among them: those are named by their number.
 */
export function codeOf(error: unknown): string {
  const { code, errno } = (error ?? {}) as NodeJS.ErrnoException;
  const isUnnamed = code === "UNKNOWN" || code?.startsWith("Unknown system error") === true;
  if (!isUnnamed || errno === undefined) return code ?? "unknown";
  return Object.entries(constants.errno).find(([, each]) => each === Math.abs(errno))?.[0] ?? code;
}
