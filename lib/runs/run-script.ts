/** From a call to what agents run, and how it is told. */
import type { z } from "zod";
import { OrchestratorError, type Issue } from "../errors.ts";
import { startOf } from "../internal/canonical-json.ts";
import { toJsonObject } from "../json.ts";
import type { ResolvedResource } from "../state/resource.ts";
import { mostCharacters, type startRunInput } from "./schemas.ts";

type Input = z.output<typeof startRunInput>;

const mostVariables = 100;
const tooLong = `must have at most ${mostCharacters} characters in all`;
/** Characters of a command that its rollout and events show. */
const shownCharacters = 4096;

/**
 * The script that a call asks for, and its text for people.
 *
 * @throws {OrchestratorError} `VALIDATION_FAILED` where what to run, or where, is said twice or not at all.
 */
export function toScript(input: Input): { script: ResolvedResource; command: string } {
  const issues = issuesOf(input);
  if (issues.length > 0) throw new OrchestratorError("VALIDATION_FAILED", { issues });
  const { command, script = "", interpreter, user, cwd, environment } = input;
  const run = command ?? script;
  const spec = toJsonObject({
    run,
    ...(interpreter && { interpreter }),
    ...(user !== undefined && { user }),
    ...(cwd !== undefined && { cwd }),
    ...(environment && { environment }),
  });
  const text = typeof run === "string" ? run : run.map(quoted).join(" ");
  return {
    script: {
      resource_id: "command",
      module: "run",
      type: "script",
      identity: "run/command",
      spec,
      requires: [],
      run_on: [],
      on_failure: "stop",
      ignore_drift: [],
      sensitive: false,
    },
    command: text.length <= shownCharacters ? text : `${startOf(text, shownCharacters - 1)}…`,
  };
}

function issuesOf({ selector, node_ids, command, script, interpreter, environment }: Input): Issue[] {
  const issues: Issue[] = [];
  const refuse = (path: string, message: string): void => void issues.push({ path: [path], message });
  if (selector === undefined && node_ids === undefined) refuse("selector", "is needed, or node_ids");
  if (selector !== undefined && node_ids !== undefined) refuse("node_ids", "must not stand beside selector");
  if (command === undefined && script === undefined) refuse("command", "is needed, or script");
  if (command !== undefined && script !== undefined) refuse("script", "must not stand beside command");
  if (interpreter !== undefined && script === undefined) refuse("interpreter", "is for a script");
  if (Array.isArray(command) && command[0] === "") refuse("command", "must begin with a program");
  const characters = Array.isArray(command) ? command.reduce((sum, word) => sum + word.length, 0) : 0;
  if (characters > mostCharacters) refuse("command", tooLong);
  const variables = Object.entries(environment ?? {});
  const told = variables.reduce((sum, [name, value]) => sum + name.length + value.length, 0);
  if (variables.length > mostVariables) refuse("environment", `must have at most ${mostVariables} variables`);
  if (told > mostCharacters) refuse("environment", tooLong);
  return issues;
}

/** A word as a shell would have to be given it. */
function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
