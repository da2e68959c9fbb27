import type { Bug } from "./bugs.ts";

const engine = ["test/state/scope.test.ts"];
const scopes = ["test/operations/scope.test.ts"];
const waiting = ["test/operations/overtaken.test.ts"];
const appliedModules = "lib/operations/applied-modules.ts";

/** Bugs by which an apply reaches beyond what it was asked for, or what is wanted is forgotten. */
export const scopeBugs: readonly Bug[] = [
  {
    name: "a thing that two modules want goes with the first of them",
    file: "lib/state/run/state-item.ts",
    from: `  return withClaims(entry, distinct([noted, ...others, ...held]));`,
    to: `  return withClaims(entry, distinct([noted, ...held]));`,
    tests: engine,
  },
  {
    name: "a module that is held up loses its claim",
    file: "lib/state/run/engine.ts",
    from: `  holdClaims(items, { applied, scope });\n`,
    tests: engine,
  },
  {
    name: "what another module owes is dropped",
    file: "lib/state/run/debts.ts",
    from: `    const dropped = rest.filter((owed) => this.#isInScope(owed));`,
    to: `    const dropped = rest;`,
    tests: engine,
  },
  {
    name: "an agent is told of no scope",
    file: "lib/operations/commands.ts",
    from: `...(scope && { scope: [...scope] })`,
    to: `...(scope && false)`,
    tests: scopes,
  },
  {
    name: "a rollout takes away what another assignment wants",
    file: appliedModules,
    from: `wanted.includes(name) || isWanted(name) ||`,
    to: `wanted.includes(name) ||`,
    tests: scopes,
  },
  {
    name: "what a call named is forgotten with the next apply",
    file: appliedModules,
    from: `{ ...state?.named, ...newlyNamed }`,
    to: `{ ...newlyNamed }`,
    tests: scopes,
  },
  {
    name: "a rollout that waited takes away what a call behind it names",
    file: "lib/operations/beginnings.ts",
    from: `      if (isOpen(value) && wanted.some((name) => removed.has(name))) return true;\n`,
    tests: waiting,
  },
  {
    name: "a rollout that waited takes away what was assigned since",
    file: "lib/operations/beginnings.ts",
    from: `return matching.some((assignment) => assignment.modules.some((name) => modules.has(name)));`,
    to: `return matching.length < 0 && modules.size > 0;`,
    tests: waiting,
  },
  {
    name: "an apply that ended without a word counts for nothing",
    file: "lib/operations/state-recorder.ts",
    from: `  return isSilent && started_at !== undefined ? "doubtful" : null;`,
    to: `  return isSilent && started_at === "" ? "doubtful" : null;`,
    tests: waiting,
  },
  {
    name: "modules are put back in the order of history",
    file: "lib/operations/baselines.ts",
    from: `[...inOrder(parts).values()].flat()`,
    to: `[...parts.values()].flat()`,
    tests: ["test/drift/enforced-scope.test.ts"],
  },
  {
    name: "a repair that does not come to its end is the last one",
    file: "lib/operations/applied-modules.ts",
    from: `isApplied || isStillWhole ?`,
    to: `isApplied ?`,
    tests: ["test/drift/enforced-again.test.ts"],
  },
  {
    name: "forgetting begins before it is written down",
    file: "lib/agent/recovery.ts",
    from: `    if (isForgetting(operation)) finishForgetting(operation, applied);
    else await`,
    to: `    if (!isForgetting(operation)) await`,
    tests: ["test/agent/forget.test.ts"],
  },
];
