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

/** Finds a name that nobody has: the wanted one, else with the first free number behind it. */
export async function findFreeName(storage: Storage, wanted: string): Promise<string> {
  for (let number = 1; ; number += 1) {
    const suffix = number === 1 ? "" : `-${number}`;
    const name = wanted.slice(0, longest - suffix.length) + suffix;
    if (!(await storage.get("agent_names", name.toLowerCase()))) return name;
  }
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
