import type { BackgroundWork } from "../upkeep/background-work.ts";
import type { OperationDocument } from "./documents.ts";
import type { OperationStore } from "./operation-store.ts";
import { RefusingAgents, type RefusingAgent } from "./refusing-agents.ts";

/** How long agents have to come back after a start: they try again after a minute at most. */
export const returnMs = 90_000;

/** The operation that an agent has been given. */
export interface Running {
  operationId: string;
  /** The commands that it was last given for it: to run it, and to cancel it. */
  commandId: string | null;
  cancelId: string | null;
  /** When it is no longer awaited, a fleet time. */
  deadlineAt: number;
  /** Whether the agent was let go once, because it took a command that has time left for one that is late. */
  isDoubted: boolean;
}

/** The work of one agent: one operation at a time. */
export interface Lane {
  /** Ids that wait, oldest first. */
  queue: string[];
  running: Running | null;
  /** Whether the next is being taken right now, and whether somebody asked for that since it began. */
  taking: boolean;
  asked: boolean;
}

/** The work of each agent. */
export class Lanes {
  readonly #lanes = new Map<string, Lane>();
  readonly #refusing = new RefusingAgents();
  /** Those that wait for an operator's word, and hold up nobody. */
  readonly #held = new Set<string>();
  /** Those that wait for the end of a maintenance window, and hold up nobody either. */
  readonly #frozen = new Set<string>();
  /**
   * Those that were looked at and wait for their agent, which is away; of each the modules that it takes away. However long the line is,
   * nobody looks at them again before something happens that may overtake them.
   */
  readonly #patient = new Map<string, readonly string[] | "repeats">();

  /** Agents that refuse whatever they are sent. */
  refusing(): RefusingAgent[] {
    return this.#refusing.list();
  }

  /** An agent took the command that it was sent, or refused it with an error code. */
  answered(nodeId: string, refusal: string | null): void {
    if (refusal === null) this.#refusing.forget(nodeId);
    else this.#refusing.refused(nodeId, refusal);
  }

  /** What an agent does; null where that is nothing. */
  runningOf(nodeId: string): Running | null {
    return this.#lanes.get(nodeId)?.running ?? null;
  }

  /** The line of an agent, to change it. */
  of(nodeId: string): Lane {
    const known = this.#lanes.get(nodeId);
    if (known) return known;
    const lane: Lane = { queue: [], running: null, taking: false, asked: false };
    this.#lanes.set(nodeId, lane);
    return lane;
  }

  /** Nobody takes from the line of an agent any more. It is kept only while there is something in it: agents come and go. */
  taken(nodeId: string): void {
    this.of(nodeId).taking = false;
    this.#rest(nodeId);
  }

  /** An agent gets no work any more, whatever it refused. Returns what waits for it. */
  dismiss(nodeId: string): readonly string[] {
    this.#refusing.forget(nodeId);
    return this.#lanes.get(nodeId)?.queue ?? [];
  }

  #rest(nodeId: string): void {
    const { queue, running, taking } = this.of(nodeId);
    if (queue.length === 0 && running === null && !taking) this.#lanes.delete(nodeId);
  }

  /** Puts an operation at the end of the line of its agent. What it may overtake is looked at again. */
  join(operation: Readonly<OperationDocument>, given: { isHeld: boolean }): void {
    const { node_id, operation_id } = operation;
    const { queue } = this.of(node_id);
    for (const id of queue) if (mayOvertake(operation, this.#patient.get(id))) this.#patient.delete(id);
    queue.push(operation_id);
    if (given.isHeld) this.#held.add(operation_id);
  }

  /** An operation in line was looked at: it waits for its agent. */
  waits({ operation_id, grounds, repeats }: Readonly<OperationDocument>): void {
    this.#patient.set(operation_id, repeats === undefined ? Object.keys(grounds?.removed ?? {}) : "repeats");
  }

  /** Whether an operation in line waits for its agent, and nothing has happened since that was looked at. */
  isPatient(operationId: string): boolean {
    return this.#patient.has(operationId);
  }

  /** All that waits is looked at again, whatever was found before. */
  lookAgain(): void {
    this.#patient.clear();
  }

  /** Whether an operation in line is held. */
  isHeld(operationId: string): boolean {
    return this.#held.has(operationId) || this.#frozen.has(operationId);
  }

  /** An operation in line waits for the end of a maintenance window. */
  hold(operationId: string): void {
    this.#frozen.add(operationId);
  }

  /** It may begin. */
  letGo(operationId: string): void {
    this.#frozen.delete(operationId);
  }

  /** The first in line that may begin. What its agent is asked about holds up nobody either. */
  head(nodeId: string, asked: { isUnanswered(operationId: string): boolean }): string | undefined {
    return this.#lanes.get(nodeId)?.queue.find((id) => !this.isHeld(id) && !asked.isUnanswered(id));
  }

  /** What was held may begin. */
  release(): void {
    this.#held.clear();
  }

  /** Takes an operation out of the line of its agent. */
  leave(nodeId: string, operationId: string): void {
    this.#held.delete(operationId);
    this.#patient.delete(operationId);
    const lane = this.of(nodeId);
    lane.queue = lane.queue.filter((id) => id !== operationId);
  }

  /** An operation has ended. Where it ran, what waits is looked at again: the machine is another one. */
  end(nodeId: string, operationId: string): void {
    this.leave(nodeId, operationId);
    const lane = this.of(nodeId);
    if (lane.running?.operationId === operationId) {
      lane.running = null;
      for (const id of lane.queue) this.#patient.delete(id);
    }
    this.#rest(nodeId);
  }

  /** The agents for which something waits. */
  waiting(): string[] {
    return [...this.#lanes].filter(([, { queue }]) => queue.length > 0).map(([nodeId]) => nodeId);
  }
}

/**
 * What another process of the orchestrator made, for an agent that is not here: the process that holds the agent begins it. It is left to
 * that one for as long as agents have to come back, and while the agent runs something.
 */
export class LeftToOthers {
  readonly #parts: { store: OperationStore; lanes: Lanes; work: BackgroundWork };
  readonly #take: (nodeId: string) => void;
  /** Agents whose lines are looked at again later. */
  readonly #looking = new Set<string>();

  /** @param take - Begins the next of an agent, where it may begin now. */
  constructor(
    parts: { store: OperationStore; lanes: Lanes; work: BackgroundWork },
    take: (nodeId: string) => void,
  ) {
    this.#parts = parts;
    this.#take = take;
  }

  /** Whether an operation that waits is left to another process now. */
  has({ operation_id, node_id }: Readonly<OperationDocument>): boolean {
    const { store, lanes, work } = this.#parts;
    const knownMs = store.knownOfOtherMs(operation_id);
    if (knownMs === null || (knownMs >= returnMs && !store.isRunning(node_id))) return false;
    if (this.#looking.has(node_id)) return true;
    this.#looking.add(node_id);
    work.after(returnMs, async () => {
      this.#looking.delete(node_id);
      lanes.lookAgain();
      this.#take(node_id);
    });
    return true;
  }
}

/** Whether an operation that is new in line may overtake one that takes modules away, or that repeats a baseline. */
function mayOvertake(
  { kind, named, modules }: Readonly<OperationDocument>,
  removed: readonly string[] | "repeats" | undefined,
): boolean {
  if (removed === undefined || (kind !== "apply" && kind !== "forget")) return false;
  if (removed === "repeats") return true;
  return removed.some(
    (name) => named?.[name] !== undefined || modules.some((module) => module.name === name),
  );
}
