/** Types of resources of one's own, beside those that ship with the package. */
import { OrchestratorError, type Issue } from "../errors.ts";
import { fault, inProgramOnly, type OptionRule } from "../internal/option-rules.ts";
import type { ResourceType, ResourceTypes } from "./resource-type.ts";
import { resourceTypes } from "./resources/index.ts";

const longestName = 64;
const snakeCase = /^[a-z][a-z0-9]*(?:_[a-z0-9]+)*$/;

/**
 * Puts types of one's own beside those that ship with the package, by their name: for the `types` of an agent, of `checkModule` and of
 * `moduleJsonSchema`. An orchestrator takes the own ones alone (`ownTypes`).
 *
 * @throws {OrchestratorError} `OPTIONS_INVALID` with an issue for each name that is not snake_case (at most 64 characters), is that
 * of a type that ships, or is there twice.
 */
export function resourceTypesWith(own: readonly ResourceType[]): ResourceTypes {
  if (own.length === 0) return resourceTypes;
  const issues = faultsOf(own);
  if (issues.length === 0)
    return new Map([...resourceTypes, ...own.map((type) => [type.type, type] as const)]);
  const message = `Types of resources can't be used: ${issues.map((issue) => issue.message).join("; ")}.`;
  throw new OrchestratorError("OPTIONS_INVALID", { message, issues });
}

/** What the option of an orchestrator may be that takes such types. */
export const ownTypesRule: OptionRule = inProgramOnly(faultsOf);

function faultsOf(own: unknown): Issue[] {
  if (!Array.isArray(own)) return [fault("must be a list of your own types alone")];
  const known = new Set<string>();
  return own.flatMap((type: Partial<ResourceType> | null | undefined, index) => {
    const name = type?.type;
    if (typeof name !== "string") return [fault("must be a type of resources", [index])];
    const wrong = faultOf(name, known);
    known.add(name);
    const missing = missingOf(type!).map((member) => fault(`of "${name}" must be there`, [index, ...member]));
    return wrong === null ? missing : [fault(`"${name}" ${wrong}`, [index, "type"]), ...missing];
  });
}

/** What every type has, and does not have here: programs in JavaScript learn it now, not in the middle of an upload. */
function missingOf({ summary, schema, triggering, ...type }: Partial<ResourceType>): string[][] {
  const isSchema = typeof (schema as { safeParse?: unknown } | undefined)?.safeParse === "function";
  const methods = ["identity", "check", "apply", "capture", "describe"] as const;
  return [
    ...(typeof summary === "string" ? [] : [["summary"]]),
    ...(isSchema ? [] : [["schema"]]),
    ...methods.filter((method) => typeof type[method] !== "function").map((method) => [method]),
    ...(triggering === undefined || Array.isArray(triggering.triggers) ? [] : [["triggering", "triggers"]]),
    ...(triggering === undefined || typeof triggering.fire === "function" ? [] : [["triggering", "fire"]]),
  ];
}

function faultOf(name: string, known: ReadonlySet<string>): string | null {
  if (!snakeCase.test(name) || name.length > longestName)
    return `is no name in snake_case of at most ${longestName} characters`;
  if (resourceTypes.has(name)) return "is the name of a type that ships with the package";
  return known.has(name) ? "is there twice" : null;
}
