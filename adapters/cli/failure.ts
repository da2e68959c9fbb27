/** What a command says when it fails, and the exit code. */
import { CommanderError } from "commander";
import { isOrchestratorError } from "fleetwright/errors";
import { ApiError } from "../client/api-error.ts";
import type { ProblemFault } from "../client/api-error.ts";
import { exitCode } from "./context.ts";
import type { ExitCode } from "./context.ts";
import { toJsonLine } from "./output.ts";
import type { OutputFormat } from "./output.ts";
import { alignRows, toLine, toLines } from "./text.ts";

/** The command was not used as it must be. */
export class UsageError extends Error {}

/** Somebody was asked and did not say yes. */
export class Declined extends Error {}

/** A failure as the problem object that the API has for it, on one line, with the exit code; what is found here has no HTTP status. */
export function toProblemLine(error: unknown, about?: string): string {
  const { code: exit_code } = describeFailure(error);
  const subject = about === undefined ? {} : { about };
  if (error instanceof ApiError) return toJsonLine({ ...error.problem, ...subject, exit_code });
  const { code, title, detail, errors } = toOwnProblem(error);
  return toJsonLine({
    type: "about:blank",
    title,
    detail,
    code,
    ...(errors && { errors }),
    ...subject,
    exit_code,
  });
}

interface OwnProblem {
  code: string;
  title: string;
  detail: string;
  errors?: ProblemFault[];
}

/** What is meant where Node asked for the working folder, which every relative path takes, and there is none any more. */
function withoutFolder(error: unknown): unknown {
  if ((error as NodeJS.ErrnoException | null)?.syscall !== "uv_cwd") return error;
  return new UsageError("The working folder was removed: change to another one.");
}

function toOwnProblem(thrown: unknown): OwnProblem {
  const error = withoutFolder(thrown);
  const detail = error instanceof Error ? error.message : String(error);
  if (error instanceof Declined) return { code: "DECLINED", title: "Nobody said yes.", detail };
  if (error instanceof UsageError || error instanceof CommanderError)
    return {
      code: "USAGE",
      title: "The command was not used as it must be.",
      detail:
        detail === "(outputHelp)"
          ? "A command is missing; --help lists them."
          : detail.replace(/^error: /, ""),
    };
  if (!isOrchestratorError(error)) return { code: "INTERNAL", title: "The command failed.", detail };
  const errors = error.issues.map(({ path, ...issue }) => ({ pointer: `/${path.join("/")}`, ...issue }));
  return { code: error.code, title: "The command failed.", detail, ...(errors.length > 0 && { errors }) };
}

/**
 * What is said, once, where something waits for a server that is away: as text, and with --json as the problem that it is, which ends
 * nothing and has no exit code.
 */
export function describeAway({ message, problem }: ApiError, format: OutputFormat): string {
  const waiting = `${message} Waiting for the server.`;
  return format === "json" ? toJsonLine({ ...problem, detail: waiting }) : toLines([toLine(waiting)]);
}

/** A failure as text, with what it is about in front. */
export function tellOf(error: unknown, about?: string): string {
  const { text } = describeFailure(error);
  return about === undefined ? text : text.replace(/^fleetwright: /, (start) => `${start}${toLine(about)}: `);
}

/**
 * Puts an error into a line, and one more for each fault of the input.
 *
 * @param program - What the line begins with.
 */
export function describeFailure(thrown: unknown, program = "fleetwright"): { text: string; code: ExitCode } {
  const error = withoutFolder(thrown);
  const say = (first: string, others: readonly string[]): string =>
    toLines([`${program}: ${toLine(first)}`, ...others.map((line) => `  ${line}`)]);
  if (error instanceof CommanderError) {
    // Help and version were asked for; what else commander refuses it has explained already.
    return { text: "", code: error.exitCode === 0 ? exitCode.ok : exitCode.usage };
  }
  if (error instanceof UsageError) return { text: say(error.message, []), code: exitCode.usage };
  if (error instanceof Declined) return { text: say(error.message, []), code: exitCode.failure };
  if (error instanceof ApiError) {
    const { code, message, problem, status } = error;
    const hint = hints.get(`${status} ${code}`) ?? hintOf(error);
    const faults = (problem.errors ?? []).map(toFault);
    return {
      text: say(`${code}: ${message}`, [...alignRows(faults), ...hint]),
      code: status === 401 ? exitCode.notSignedIn : exitCode.failure,
    };
  }
  if (isOrchestratorError(error)) {
    // A fault of the set-up, found here: one line.
    const faults = error.issues.map(({ path, message, line, column }) => {
      const place = line === undefined ? "" : ` ${line}:${column ?? 1}`;
      return `${place} ${path.join(".")} ${message}`;
    });
    return { text: say(`${error.code}: ${error.message}${faults.join(";")}`, []), code: exitCode.failure };
  }
  const message = error instanceof Error ? error.message : String(error);
  return { text: say(`INTERNAL: ${message}`, []), code: exitCode.failure };
}

function hintOf({ status, code, problem }: ApiError): string[] {
  if (status === 401) return ["Sign in with `fleetwright login`."];
  const { needed } = problem.details ?? {};
  return code === "FORBIDDEN" && typeof needed === "string" ? [`It takes the role ${toLine(needed)}.`] : [];
}

/** What to do where a plan is not true any more. */
export const staleHint =
  "What was planned is not what an apply would do now, so nothing was changed. Make another plan, and apply that.";

/** What to do about refusals that their message leaves open, by status and code. */
const hints: ReadonlyMap<string, readonly string[]> = new Map([
  ["409 PLAN_STALE", [staleHint]],
  [
    "401 SIGNATURE_INVALID",
    [
      "The server does not know the key. An Admin adds it with `fleetwright operators add`; another key is given with",
      "`fleetwright login --key FILE`.",
    ],
  ],
  [
    "502 ORCHESTRATOR_KEY_CHANGED",
    [
      "Another server may answer in its place. Ask whoever runs it for its key, and accept that one with",
      "`fleetwright login --orchestrator-key KEY`.",
    ],
  ],
]);

function toFault({ pointer, message, line, column }: ProblemFault): string[] {
  const place = line === undefined ? [] : [`${line}:${column ?? 1}`];
  return [...place, toLine(pointer), toLine(message)];
}
