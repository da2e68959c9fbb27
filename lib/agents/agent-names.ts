/** Names that people call agents by: unique without regard to case. */
import { isOrchestratorError, OrchestratorError } from "../errors.ts";
import type { Storage, Write } from "../storage/storage.ts";

const longest = 64;

/** Makes a valid name of a hostname: what can't stand in one becomes "-". */
export function toAgentName(hostname: string): string {
  const name = hostname
    .split(".")[0]!
    .replaceAll(/[^A-Za-z0-9_-]/g, "-")
    .replace(/^[^A-Za-z]+/, "")
    .slice(0, longest);
  return name === "" ? "agent" : name;
}

/** What a name is found for. */
interface NameQuery {
  /** As {@link toAgentName} makes it. */
  wanted: string;
  nodeId: string;
  /** Others keep taking the numbers in the same moment: the agent's id makes the name its own. */
  isContended: boolean;
}

/**
 * Finds a name that nobody has: the wanted one, else with the first free number up to 9 behind it, else with the beginning of the
 * agent's id, else with all of it: one read, however many are named so. Only somebody who names others after this id can make it more.
 */
export async function findFreeName(
  storage: Storage,
  { wanted, nodeId, isContended }: NameQuery,
): Promise<string> {
  const numbered = ["", "-2", "-3", "-4", "-5", "-6", "-7", "-8", "-9"];
  const suffixes = [...(isContended ? [] : numbered), `-${nodeId.slice(0, 8)}`, `-${nodeId}`];
  const names = suffixes.map((suffix) => withSuffix(wanted, suffix));
  const taken = await storage.getMany(
    "agent_names",
    names.map((name) => name.toLowerCase()),
  );
  const free = names.find((_, at) => taken[at] === null);
  if (free !== undefined) return free;
  for (let number = 2; ; number += 1) {
    const name = withSuffix(wanted, `-${nodeId}-${number}`);
    if (!(await storage.get("agent_names", name.toLowerCase()))) return name;
  }
}

function withSuffix(wanted: string, suffix: string): string {
  return wanted.slice(0, longest - suffix.length) + suffix;
}

/** The write that takes a name; its commit fails where somebody has it. */
export function takeName(name: string, nodeId: string): Write {
  return {
    kind: "put",
    collection: "agent_names",
    key: name.toLowerCase(),
    value: { node_id: nodeId },
    expected: 0,
  };
}

/** Says "the name is taken" of a conflict on {@link takeName}; leaves every other error as it is. */
export function asNameTaken(error: unknown, name: string): unknown {
  if (!isOrchestratorError(error, "REVISION_CONFLICT") || error.details["collection"] !== "agent_names")
    return error;
  return new OrchestratorError("ALREADY_EXISTS", {
    message: `Another agent is named ${name}.`,
    cause: error,
  });
}
