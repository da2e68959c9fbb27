/** Which program a terminal runs, as whom and with which environment: for the agent alone to say. */
import { existsSync } from "node:fs";
import { userInfo } from "node:os";
import { OrchestratorError } from "../../errors.ts";
import { LocalUsers, type LocalAccount } from "../../host/local-users.ts";
import { accountEnvironment, startAs } from "../../host/run-as.ts";
import type { MessageOf, OrchestratorMessage } from "../../wire/messages.ts";
import type { PtyProgram } from "./pty.ts";

/** Whether terminals may be opened on the agent's machine, and as whom. */
export interface TerminalSetup {
  /** User that shells run as, by name. Default the agent's own. Another than that needs an agent that is root. */
  user?: string;
  /** Program that is run, whatever the one who opens a terminal names; an absolute path. Default what they name, then the user's shell. */
  shell?: string;
}

const path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/**
 * What is run for a terminal.
 *
 * @throws {OrchestratorError} `TERMINALS_UNAVAILABLE` for a user that there is not; `HOST_ERROR` for a program that is not there.
 */
export function toProgram(
  setup: TerminalSetup,
  nodeId: string,
  opening: MessageOf<OrchestratorMessage, "terminal.open">,
): PtyProgram {
  const { session_id, operator, cols, rows } = opening;
  const account = accountOf(setup.user);
  const file = setup.shell ?? opening.shell ?? (account.shell === "" ? "/bin/sh" : account.shell);
  if (!file.startsWith("/") || !existsSync(file))
    throw new OrchestratorError("HOST_ERROR", { message: "There is no such shell on the machine." });
  const folder = existsSync(account.home) ? account.home : "/";
  const environment = {
    ...accountEnvironment(account),
    // What editors and pagers start: that of the account may be one that lets nobody in.
    ...(setup.shell !== undefined && { SHELL: setup.shell }),
    PATH: path,
    TERM: "xterm-256color",
    LANG: "C.UTF-8",
    FLEETWRIGHT_OPERATOR: operator,
  };
  const isOwn = account.uid === process.getuid?.();
  const argv = [file] as [string];
  const started = isOwn
    ? { argv, env: environment }
    : startAs(account, { argv, env: environment, ids: {} }, "/");
  if (!isOwn && started.argv.length === 1)
    throw new OrchestratorError("TERMINALS_UNAVAILABLE", {
      message: "The agent can't become the user of its terminals: that needs root and setpriv.",
    });
  const [program, ...args] = started.argv;
  return {
    file: program,
    args,
    environment: started.env,
    mark: `${nodeId}/${session_id}`,
    folder,
    cols,
    rows,
  };
}

function accountOf(user: string | undefined): LocalAccount {
  if (user !== undefined) {
    const account = new LocalUsers().account(user);
    if (account === null)
      throw new OrchestratorError("TERMINALS_UNAVAILABLE", {
        message: "The user of terminals is not known on the agent's machine.",
      });
    return account;
  }
  const { username: name, uid, gid, homedir: home, shell } = userInfo();
  return { name, uid, gid, home, shell: shell ?? "" };
}
