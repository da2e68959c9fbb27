/** The exit code for what a server tells of a shell's end: 0 to 255 as it is, anything else a failure, 1. */
export function toShellExitCode(told: unknown): number {
  return Number.isInteger(told) && Number(told) >= 0 && Number(told) <= 255 ? Number(told) : 1;
}
