/** The system's name of an error, e.g. `ENOENT`; `unknown` where it has none. */
export function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException | null | undefined)?.code ?? "unknown";
}
