import { exitCode } from "../context.ts";
import type { ExitCode } from "../context.ts";

/** An exit code of a shell on a machine, 0 to 255: the command that showed the shell exits with it. */
export type ShellExitCode = number & { readonly of: "shell" };

/** The exit code for what a server tells of a shell's end: 0 to 255 as it is, anything else a failure, 1. */
export function toShellExitCode(told: unknown): ShellExitCode | ExitCode {
  return isShellExitCode(told) ? told : exitCode.failure;
}

function isShellExitCode(told: unknown): told is ShellExitCode {
  return Number.isInteger(told) && Number(told) >= 0 && Number(told) <= 255;
}
