/** Whether an apply that waits is overtaken: by another that was asked of the machine since. */
import type { Storage, StoredDocument } from "../storage/storage.ts";
import { readAgentState } from "./agent-states.ts";
import { isWhole, modulesOf } from "./applied-modules.ts";
import type { AgentStateDocument, OperationDocument } from "./documents.ts";
import { isOpen } from "./operation-store.ts";

/** Applies that are looked at, newest first: more than ever wait for one agent. */
const lookedAt = 100;

/** Modules of a baseline of an agent, by the apply that made it. */
interface Repeated {
  nodeId: string;
  operationId: string;
  modules: readonly string[];
  /** The apply that repeats it, which does not stand in its own way. */
  by?: string;
}

/**
 * What is known of an agent, to be expected by the commit that makes the apply; null where the baseline may not be repeated:
 * another apply made its own, or ended without success for something else of one of the modules, or is open, or nobody knows how it ended.
 */
export async function findRepeatable(
  storage: Storage,
  { nodeId, operationId, modules, by }: Repeated,
): Promise<StoredDocument<AgentStateDocument> | null> {
  const state = await readAgentState(storage, nodeId);
  if (state?.value.baseline?.operation_id !== operationId) return null;
  const known = modulesOf(state.value);
  // After an apply that failed a module is between two states; which one is right, only people know.
  if (!modules.every((name) => isWhole(known.get(name)))) return null;
  const baseline = await storage.get<OperationDocument>("operations", operationId);
  for (const kind of ["apply", "forget"]) {
    for (const each of await newestOf(storage, nodeId, kind)) {
      const { key, value } = each;
      if (key === by || key === operationId) continue;
      // One begins after the other, so that what is open was asked for later.
      if (isOpen(value)) return null;
      if (value.status === "unknown" && isLater(each, baseline ?? { key: operationId })) return null;
    }
  }
  return state;
}

/** By the fleet time: after a clock that was ahead, ids sort below those of that time. Those without one, or of one moment, go by their ids. */
function isLater(
  { key, value }: StoredDocument<OperationDocument>,
  than: { key: string; value?: Readonly<OperationDocument> },
): boolean {
  const [begun, before] = [value.begun_at, than.value?.begun_at];
  return begun === undefined || before === undefined || begun === before ? key > than.key : begun > before;
}

/** The newest operations of an agent of one kind. */
export async function newestOf(
  storage: Storage,
  nodeId: string,
  kind: string,
): Promise<StoredDocument<OperationDocument>[]> {
  const query = { index: "by_node_kind", equals: [nodeId, kind], order: "desc", limit: lookedAt } as const;
  return (await storage.list<OperationDocument>("operations", query)).items;
}
