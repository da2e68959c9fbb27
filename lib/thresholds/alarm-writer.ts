/** Writes alarms that begin and end, each with the event that tells of it. */
import type { AgentService } from "../agents/agent-service.ts";
import { systemCaller } from "../callers/caller.ts";
import { toTimestamp } from "../clock.ts";
import type { Context, EventInput } from "../context.ts";
import { toHex, toUtf8 } from "../crypto/encoding.ts";
import { isOrchestratorError } from "../errors.ts";
import { toJsonObject } from "../json.ts";
import type { Write } from "../storage/storage.ts";
import type { AlarmDocument, ThresholdDocument } from "./documents.ts";
import type { Course } from "./judgement.ts";
import { pairKey, type StoredAlarm } from "./threshold-book.ts";
import { crossedEvent, recoveredEvent, type AlarmEnd } from "./threshold-view.ts";

const collection = "alarms";

/** A series that a threshold watches. */
export interface Pair {
  threshold: Readonly<ThresholdDocument>;
  series: string;
  course: Course;
}

/** An alarm that begins, or one that ends. */
export type AlarmChange = { began: Pair } | { ended: StoredAlarm; reason: AlarmEnd; value: number | null };

export class AlarmWriter {
  readonly #context: Context;
  readonly #agents: AgentService;

  constructor(context: Context, agents: AgentService) {
    this.#context = context;
    this.#agents = agents;
  }

  /** Writes changes of one agent's alarms, all or none: none where another process has changed one of them meanwhile. */
  async write(nodeId: string, changes: readonly AlarmChange[]): Promise<void> {
    const [agent] = await this.#agents.describe([nodeId]);
    const agentName = agent?.name ?? nodeId;
    const writes: Write[] = [];
    const events: EventInput[] = [];
    for (const change of changes) {
      if ("began" in change) {
        const alarm = this.#toAlarm({ id: nodeId, name: agentName }, change.began);
        const value = toJsonObject(alarm);
        writes.push({ kind: "put", collection, key: alarm.id, value, expected: 0 });
        events.push(crossedEvent(alarm, change.began.threshold, agentName));
      } else {
        const { ended, reason, value } = change;
        writes.push({ kind: "delete", collection, key: ended.key, expected: ended.revision });
        events.push(recoveredEvent(ended.value, { value, reason, agentName }));
      }
    }
    await this.#unlessChanged(() => this.#context.commit(systemCaller, writes, ...events));
  }

  /** Deletes alarms of agents that are none of the fleet any more: of these something else was told. */
  async drop(alarms: readonly StoredAlarm[]): Promise<void> {
    const writes = alarms.map(({ key, revision }): Write => {
      return { kind: "delete", collection, key, expected: revision };
    });
    if (writes.length > 0) await this.#unlessChanged(() => this.#context.storage.commit(writes));
  }

  /** What another process has written is known from the feed, and the next sample is compared with it. */
  async #unlessChanged(commit: () => Promise<unknown>): Promise<void> {
    try {
      await commit();
    } catch (error) {
      if (!isOrchestratorError(error, "REVISION_CONFLICT")) throw error;
    }
  }

  #toAlarm(agent: { id: string; name: string }, { threshold, series, course }: Pair): AlarmDocument {
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
