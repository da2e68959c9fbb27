/** Questions to whoever sits at a terminal, before something that they may not have meant. */
import type { CommandCall } from "./call.ts";
import type { CommandContext } from "./context.ts";
import { Declined, UsageError } from "./failure.ts";
import { toLine, toLines } from "./text.ts";

/** Puts a question to somebody. */
export type Ask = NonNullable<CommandContext["ask"]>;

/** How much of a list stands above a question, lines. */
const mostListed = 20;

/** The one to ask; null where nobody can be asked, and where the answer is known: scripts, `--json` and `--yes` are never held up. */
export function askerOf({ context, options }: CommandCall, yes: boolean | undefined): Ask | null {
  return yes === true || options.json === true ? null : (context.ask ?? null);
}

/**
 * Goes on where somebody says yes; anything else is a no.
 *
 * @param about.told - Lines to read before, already made safe for a terminal.
 * @param about.otherwise - What is said after a no.
 * @throws {Declined}
 */
export async function confirm(
  ask: Ask,
  about: { told: readonly string[]; question: string; otherwise: string },
): Promise<void> {
  const { told, question, otherwise } = about;
  const answer = await ask(`${toLines(told)}${question} [y/N] `);
  if (!/^y(es)?$/i.test(answer?.trim() ?? "")) throw new Declined(otherwise);
}

/** The first lines of a list, and how many there are beside them. */
export function firstLines(lines: readonly string[]): string[] {
  const more = lines.length - mostListed;
  return more > 0 ? [...lines.slice(0, mostListed), `  and ${more} more`] : [...lines];
}

/** Description of `--yes`. */
export const yesOption = [
  "--yes",
  "do not ask; without a terminal, and with --json, nothing is asked",
] as const;

/** Description of `--yes` of what is refused where nobody can be asked. */
export const sureOption = ["--yes", "do not ask; needed where nobody can be asked"] as const;

/** Options of such a command. */
export interface SureOptions {
  yes?: boolean;
}

/**
 * Goes on where somebody says yes, or said `--yes`.
 *
 * @param what - What would be done, e.g. "Remove the module web"; made safe for a terminal here.
 * @throws {Declined} Where somebody says no.
 * @throws {UsageError} Where nobody can be asked.
 */
export async function makeSure(call: CommandCall, { yes }: SureOptions, what: string): Promise<void> {
  if (yes === true) return;
  const ask = askerOf(call, yes);
  if (ask === null) throw new UsageError(`${what}? Nobody can be asked here: say --yes.`);
  await confirm(ask, { told: [], question: toLine(`${what}?`), otherwise: "Nothing was changed." });
}
