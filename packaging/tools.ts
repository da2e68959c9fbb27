/** Programs that the build runs, and what is said where one is missing. */
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

/** The root of the repository. */
export const repository = fileURLToPath(new URL("..", import.meta.url));

/** One of the artifacts can't be built, since something is not there or failed; the others are built. */
export class NotBuilt extends Error {}

/** A program that is there ended with a failure. */
export class ProgramFailed extends NotBuilt {}

/**
 * Runs a program.
 *
 * @param options - `variables` are added to the environment.
 * @returns What it printed.
 * @throws {NotBuilt} Where it is not installed.
 * @throws {ProgramFailed} Where it ended with a failure; the message has its words.
 */
export function run(
  program: string,
  args: readonly string[],
  { variables = {}, ...options }: { cwd?: string; variables?: Record<string, string> } = {},
): string {
  const { status, stdout, stderr, error } = spawnSync(program, args, {
    encoding: "utf8",
    env: { ...process.env, LC_ALL: "C", ...variables },
    maxBuffer: 64 * 2 ** 20,
    ...options,
  });
  if ((error as NodeJS.ErrnoException | undefined)?.code === "ENOENT")
    throw new NotBuilt(`there is no program ${program} on this machine`);
  if (error) throw error;
  if (status === 0) return stdout;
  const words = `${stderr}${stdout}`.trim().replaceAll(/\s*\n\s*/g, "; ");
  throw new ProgramFailed(`${program} ended with ${status}: ${words}`);
}
