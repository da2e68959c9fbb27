/** Modules that wait for each other: pure, so that uploads are judged in the same way before they are sent. */
import { OrchestratorError } from "../errors.ts";
import type { ParsedModule } from "./parsed-module.ts";

/**
 * Walks over every module that one requires, through others too. It yields the name of each that it comes to, the first of which it
 * requires itself, and is given what that one requires.
 *
 * @returns The names of all of them.
 * @throws {OrchestratorError} `MODULE_INVALID` where one of them requires it.
 */
export function* walkRequired(
  module: Pick<ParsedModule, "name" | "requires" | "requiredAt">,
): Generator<{ name: string; by: string; at: number }, string[], readonly string[]> {
  const { name, requires } = module;
  const seen = new Map<string, string>();
  const waiting = requires.map((each, at) => ({ each, by: name, at }));
  for (let next = waiting.shift(); next; next = waiting.shift()) {
    const { each, by, at } = next;
    if (each === name)
      throw invalidRequirement(module, at, `These wait for each other: ${wayTo(by, name, seen)} -> ${name}.`);
    if (seen.has(each)) continue;
    seen.set(each, by);
    for (const further of yield { name: each, by, at }) waiting.push({ each: further, by: each, at });
  }
  return [...seen.keys()];
}

/** The refusal of what a module requires. */
export function invalidRequirement(
  { requiredAt }: Pick<ParsedModule, "requiredAt">,
  at: number,
  message: string,
): OrchestratorError {
  const issue = { path: ["requires", at], message, ...requiredAt[at] };
  return new OrchestratorError("MODULE_INVALID", { message, issues: [issue] });
}

/** From the module that is taken in to the one that requires it. */
function wayTo(last: string, name: string, cameFrom: ReadonlyMap<string, string>): string {
  const way = [last];
  for (let at = last; at !== name;) {
    at = cameFrom.get(at) ?? name;
    way.unshift(at);
  }
  return way.join(" -> ");
}
