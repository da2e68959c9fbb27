/** Names that people call agents by: unique without regard to case. */
import { isOrchestratorError, OrchestratorError } from "../errors.ts";
import type { Storage, Write } from "../storage/storage.ts";
import type { AgentDocument } from "./documents.ts";

const longest = 64;

/** Finds agents by their names. */
export class AgentNames {
  readonly #storage: Pick<Storage, "get">;

  constructor(storage: Pick<Storage, "get">) {
    this.#storage = storage;
  }

  /** The agent of a name after a node_id: one page, or none. */
  async *pages(name: string, { after }: { after: string }): AsyncGenerator<readonly string[]> {
    const nodeId = await this.#find(name);
    if (nodeId !== null && nodeId > after) yield [nodeId];
  }

  /** Which of some agents has a name. */
  async having(nodeIds: readonly string[], name: string): Promise<ReadonlySet<string>> {
    const nodeId = await this.#find(name);
    return new Set(nodeIds.filter((each) => each === nodeId));
  }

  async #find(name: string): Promise<string | null> {
    const stored = await this.#storage.get<{ node_id: string }>("agent_names", name.toLowerCase());
    return stored?.value.node_id ?? null;
  }
}

/** Makes a valid name of a hostname: what can't stand in one becomes "-". */
export function toAgentName(hostname: string): string {
  return nameOf(hostname) ?? "agent";
}

/** Makes a valid name of what a machine tells, in the same way; null where nothing of it can stand in one. */
export function nameOf(text: string): string | null {
  const name = text
    .split(".")[0]!
    .replaceAll(/[^A-Za-z0-9_-]/g, "-")
    .replace(/^[^A-Za-z]+/, "")
    .slice(0, longest);
  return name === "" ? null : name;
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

/** The writes that have an agent called otherwise; none of the guard where only the case differs. */
export function changeName(nodeId: string, { from, to }: { from: string; to: string }): Write[] {
  return from.toLowerCase() === to.toLowerCase() ? [] : [freeName(from), takeName(to, nodeId)];
}

/** The write that lets others have a name. Only its agent's document may be written with it. */
export function freeName(name: string): Write {
  return { kind: "delete", collection: "agent_names", key: name.toLowerCase() };
}

/** The write that gives the name of one agent to another. Only with the documents of both may it be written. */
export function handOverName(name: string, nodeId: string): Write {
  return {
    kind: "put",
    collection: "agent_names",
    key: name.toLowerCase(),
    value: { node_id: nodeId },
  };
}

/** Who was to be called how. */
interface NameWish {
  name: string;
  agent: Pick<AgentDocument, "node_id" | "name" | "hostname">;
}

/**
 * Says of a conflict on {@link takeName} which agent has the name, and who was to get it; leaves every other error as it is, and that
 * of a name which is free again by now.
 */
export async function asNameTaken(storage: Storage, error: unknown, wish: NameWish): Promise<unknown> {
  if (!isOrchestratorError(error, "REVISION_CONFLICT") || error.details["collection"] !== "agent_names")
    return error;
  const held = await storage.get<{ node_id: string }>("agent_names", wish.name.toLowerCase());
  if (!held) return error;
  const { node_id: nodeId } = held.value;
  const holder = await storage.get<AgentDocument>("agents", nodeId);
  const { name, agent } = wish;
  return new OrchestratorError("ALREADY_EXISTS", {
    message: `Another agent is named ${holder?.value.name ?? name}: ${nodeId}. So ${agent.name ?? agent.hostname} (${agent.node_id}) can't be.`,
    details: { name, node_id: agent.node_id, held_by: nodeId },
    cause: error,
  });
}
