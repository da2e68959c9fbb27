/** The enrolment token of an agent, from where it was put for it. */
import type { CommandContext } from "../context.ts";
import { UsageError } from "../failure.ts";
import { readText } from "../read-text.ts";

/** The variable that a token may come in: unlike an option, other users of the machine do not see it in `ps`. */
export const tokenVariable = "FLEETWRIGHT_ENROLMENT_TOKEN";

/** Where the token may be. */
export interface TokenOptions {
  token?: string;
  tokenFile?: string;
}

/** What it is looked for with. */
type TokenContext = Pick<CommandContext, "environment" | "readInput">;

/** What was found, and what to say of what was not. */
export interface FoundToken {
  token?: string;
  warning?: string;
}

/**
 * Finds the token: an option comes before the variable. A file that is gone, or holds something else, is no reason not to start: whoever
 * installed the machine may have taken it away when the agent was approved.
 *
 * @throws {UsageError} Where the token is given without the key of the server that may have it.
 */
export async function findToken(
  context: TokenContext,
  options: TokenOptions & { orchestratorKey?: string },
): Promise<FoundToken> {
  const found = await look(context, options);
  if (found.token !== undefined && options.orchestratorKey === undefined) {
    throw new UsageError(
      "An enrolment token needs --orchestrator-key, too: nobody but that server may get it. `fleetwright enrol token` prints both.",
    );
  }
  return found;
}

async function look(context: TokenContext, { token, tokenFile }: TokenOptions): Promise<FoundToken> {
  if (token !== undefined) return { token };
  if (tokenFile === undefined) {
    const given = context.environment[tokenVariable] ?? "";
    return given === "" ? {} : toToken(given, tokenVariable);
  }
  try {
    return toToken(await readText(context, tokenFile), tokenFile);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    return { warning: `The enrolment token is left out: ${error.message}` };
  }
}

/** What can be no token is not quoted: it may be the better part of one. */
function toToken(text: string, where: string): FoundToken {
  const token = text.trim();
  return /^\S{1,256}$/.test(token) ? { token } : { warning: `There is no enrolment token in ${where}.` };
}
