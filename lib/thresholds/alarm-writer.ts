/** Writes alarms that begin and end, each with the event that tells of it. */
import type { AgentService } from "../agents/agent-service.ts";
import { systemCaller } from "../callers/caller.ts";
import { toTimestamp } from "../clock.ts";
import type { Context, EventInput } from "../context.ts";
import { toHex, toUtf8 } from "../crypto/encoding.ts";
import { isOrchestratorError } from "../errors.ts";
import { toJsonObject } from "../json.ts";
import type { Write } from "../storage/storage.ts";
import type { AlarmDamping, TellableChange, Telling } from "./alarm-damping.ts";
import type { AlarmDocument, ThresholdDocument } from "./documents.ts";
import type { Course } from "./judgement.ts";
import { pairKey, type StoredAlarm, type StoredFlapping } from "./threshold-book.ts";
import { crossedEvent, recoveredEvent, settledEvent, type AlarmEnd } from "./threshold-view.ts";

const collection = "alarms";

/** A series that a threshold watches. */
export interface Pair {
  threshold: Readonly<ThresholdDocument>;
  series: string;
  course: Course;
  /** That the newest sample has it, and its metric as a whole, too, which is watched in its place. */
  isReplaced?: true;
}

/** An alarm that begins, or one that ends. */
export type AlarmChange = { began: Pair } | { ended: StoredAlarm; reason: AlarmEnd; value: number | null };

interface Named {
  id: string;
  name: string;
}

export class AlarmWriter {
  readonly #context: Context;
  readonly #agents: AgentService;
  readonly #damping: AlarmDamping;

  constructor(context: Context, { agents, damping }: { agents: AgentService; damping: AlarmDamping }) {
    this.#context = context;
    this.#agents = agents;
    this.#damping = damping;
  }

  /**
   * Writes changes of alarms, by agent, all or none: none where another process has changed one of them meanwhile. Tells whether they are
   * written.
   */
  async write(changes: ReadonlyMap<string, readonly AlarmChange[]>): Promise<boolean> {
    const known = await this.#agents.describe([...changes.keys()]);
    const names = new Map(known.map(({ node_id, name }) => [node_id, name]));
    const writes: Write[] = [];
    const events: EventInput[] = [];
    const told: [string, Telling][] = [];
    for (const [id, own] of changes) {
      const agent = { id, name: names.get(id) ?? id };
      const tellable = own.map((change) => this.#change(agent, change, writes));
      const telling = this.#damping.tell(agent, tellable);
      writes.push(...telling.writes);
      events.push(...telling.events);
      told.push([id, telling]);
    }
    if (!(await this.#unlessChanged(() => this.#context.commit(systemCaller, writes, ...events))))
      return false;
    for (const [id, telling] of told) this.#damping.told(id, telling);
    return true;
  }

  #change(agent: Named, change: AlarmChange, writes: Write[]): TellableChange {
    if ("began" in change) {
      const alarm = this.#toAlarm(agent, change.began);
      writes.push({ kind: "put", collection, key: alarm.id, value: toJsonObject(alarm), expected: 0 });
      return { kind: "began", alarm, event: crossedEvent(alarm, change.began.threshold, agent.name) };
    }
    const { ended, reason, value } = change;
    writes.push({ kind: "delete", collection, key: ended.key, expected: ended.revision });
    const event = recoveredEvent(ended.value, { value, reason, agentName: agent.name });
    return { kind: "ended", alarm: ended.value, event };
  }

  /** Deletes what there is of agents that are none of the fleet any more: of these something else was told. */
  async drop(alarms: readonly StoredAlarm[], flapping: readonly StoredFlapping[]): Promise<void> {
    const writes = [
      ...alarms.map(({ key, revision }) => ({ collection, key, expected: revision })),
      ...flapping.map(({ key, revision }) => ({ collection: "flapping_alarms", key, expected: revision })),
    ].map((write): Write => ({ kind: "delete", ...write }));
    if (writes.length > 0) await this.#unlessChanged(() => this.#context.storage.commit(writes));
  }

  /** Tells in sum what flapped. */
  async settle({ key, revision, value }: StoredFlapping, alarms: number): Promise<void> {
    const agentName = await this.#agents.nameOf(value.node_id);
    const write: Write = { kind: "delete", collection: "flapping_alarms", key, expected: revision };
    const event = settledEvent(value, { agentName, alarms });
    await this.#unlessChanged(() => this.#context.commit(systemCaller, [write], event));
  }

  /** What another process has written is known from the feed, and the next look is at that. */
  async #unlessChanged(commit: () => Promise<unknown>): Promise<boolean> {
    try {
      await commit();
      return true;
    } catch (error) {
      if (!isOrchestratorError(error, "REVISION_CONFLICT")) throw error;
      return false;
    }
  }

  #toAlarm(agent: Named, { threshold, series, course }: Pair): AlarmDocument {
    const digest = this.#context.crypto.sha256(toUtf8(`${agent.id} ${pairKey(threshold.id, series)}`));
    return {
      id: toHex(digest).slice(0, 32),
      threshold_id: threshold.id,
      threshold: threshold.name,
      severity: threshold.severity,
      node_id: agent.id,
      agent_name: agent.name,
      series,
      value: course.value,
      since: toTimestamp(course.beyondSince ?? course.at),
      crossed_at: toTimestamp(course.at),
    };
  }
}
