import type { AgentService } from "../agents/agent-service.ts";
import type { Context } from "../context.ts";
import { OrchestratorError } from "../errors.ts";
import type { Severity } from "../events.ts";
import type { SelectorCache } from "../selectors/selector-cache.ts";
import { eachDocument, eachPage } from "../storage/each-document.ts";
import type { SampleRow, StoredDocument, Write } from "../storage/storage.ts";
import { BackgroundWork } from "../upkeep/background-work.ts";
import { AlarmDamping } from "./alarm-damping.ts";
import { AlarmUpkeep } from "./alarm-upkeep.ts";
import { AlarmWriter } from "./alarm-writer.ts";
import type {
  AlarmDocument,
  FlappingDocument,
  ThresholdDocument,
  ThresholdListDocument,
} from "./documents.ts";
import { SampleWatcher } from "./sample-watcher.ts";
import { ThresholdBook, type StoredAlarm } from "./threshold-book.ts";
import { requireFewThresholds } from "./threshold-rules.ts";

/** Alarms that are looked at to name some agents, each of which may have 50. */
const lookedAt = { page: 100, most: 500 };

/** Compares what agents measure with the limits that operators set. */
export class ThresholdService {
  /** How selectors of thresholds are read. */
  readonly selectors: SelectorCache;
  readonly #context: Context;
  readonly #agents: AgentService;
  readonly #book = new ThresholdBook();
  readonly #damping: AlarmDamping;
  readonly #writer: AlarmWriter;
  readonly #upkeep: AlarmUpkeep;
  readonly #watcher: SampleWatcher;
  readonly #work: BackgroundWork;

  constructor(context: Context, { agents }: { agents: AgentService }) {
    this.#context = context;
    this.#agents = agents;
    this.selectors = agents.registry.selectors;
    const book = this.#book;
    const damping = (this.#damping = new AlarmDamping(context, book));
    const writer = (this.#writer = new AlarmWriter(context, { agents, damping }));
    this.#upkeep = new AlarmUpkeep(context, { agents, book, damping, writer });
    this.#watcher = new SampleWatcher(context, { agents, book, writer });
    this.#work = new BackgroundWork(context);
    context.feed.follow<ThresholdDocument>("thresholds", ({ key, document }) => {
      if (document) this.#take(document.value);
      else this.#book.delete(key);
      this.#upkeep.changed(key);
    });
    context.feed.follow<AlarmDocument>("alarms", ({ key, document }) => {
      if (!document) return this.#book.deleteAlarm(key);
      this.#book.setAlarm(document);
      this.#endWhereStale(document);
    });
    // Tags decide what watches an agent, and one that is away sends no sample that would show it.
    context.feed.follow("agents", ({ key }) => {
      if (!agents.registry.isApproved(key)) return;
      for (const alarm of book.alarmsOf(key).values()) this.#endWhereStale(alarm);
    });
    agents.registry.onStatus(({ nodeId, after }) => {
      if (after === "approved") return;
      this.#watcher.forget(nodeId);
      this.#damping.forget(nodeId);
      if (this.#book.alarmsOf(nodeId).size > 0 || this.#book.flappingOf(nodeId).length > 0)
        this.#work.do(() => this.#drop(nodeId));
    });
  }

  /** How many alarms there are now, by severity. */
  alarmCounts(): Record<Severity, number> {
    return this.#book.alarmCounts();
  }

  /** Different agents with the newest alarms of a severity, `most` at most. */
  async alarmedAgents(severity: Severity, most: number): Promise<string[]> {
    const nodeIds = new Set<string>();
    const query = { index: "by_severity", equals: [severity], order: "desc", limit: lookedAt.page } as const;
    let left = lookedAt.most;
    for await (const page of eachPage<AlarmDocument>(this.#context.storage, "alarms", query)) {
      for (const { value } of page) if (nodeIds.size < most) nodeIds.add(value.node_id);
      left -= page.length;
      if (nodeIds.size === most || left <= 0) break;
    }
    return [...nodeIds];
  }

  /** Reads the thresholds and the alarms that there are, and ends those that nothing stands behind any more. */
  async start(): Promise<() => Promise<void>> {
    const { storage } = this.#context;
    for await (const { value } of eachDocument<ThresholdDocument>(storage, "thresholds")) this.#take(value);
    for await (const alarm of eachDocument<AlarmDocument>(storage, "alarms")) this.#book.setAlarm(alarm);
    for await (const flapping of eachDocument<FlappingDocument>(storage, "flapping_alarms"))
      this.#book.setFlapping(flapping);
    const known = [...this.#book.alarms(), ...this.#book.flapping.values()];
    const nodeIds = new Set(known.map(({ value }) => value.node_id));
    for (const nodeId of nodeIds)
      if (!this.#agents.registry.isApproved(nodeId)) this.#work.do(() => this.#drop(nodeId));
    await this.#upkeep.start();
    return async () => {
      await this.#work.stop();
      await this.#upkeep.stop();
      await this.#watcher.settled();
    };
  }

  /** Looks at samples of an agent that were taken in. Never rejects. */
  look(nodeId: string, rows: readonly SampleRow[]): Promise<void> {
    return this.#watcher.look(nodeId, rows);
  }

  /** The connection of an agent has ended: with the next one it may have been elsewhere meanwhile. */
  left(nodeId: string): void {
    this.#watcher.left(nodeId);
  }

  /** Reads a threshold; `NOT_FOUND` where there is none. */
  async read(id: string): Promise<StoredDocument<ThresholdDocument>> {
    const stored = await this.#context.storage.get<ThresholdDocument>("thresholds", id);
    if (!stored) throw new OrchestratorError("NOT_FOUND", { message: `There is no threshold ${id}.` });
    return stored;
  }

  /**
   * Puts a threshold on the list of all, or takes it off.
   *
   * @throws {OrchestratorError} `VALIDATION_FAILED` for one too many: each costs a look with each sample of the fleet.
   */
  async list(change: (ids: readonly string[]) => string[]): Promise<Write> {
    const [collection, key] = ["threshold_lists", "all"];
    const stored = await this.#context.storage.get<ThresholdListDocument>(collection, key);
    const ids = change(stored?.value.ids ?? []);
    requireFewThresholds(ids.length);
    return { kind: "put", collection, key, value: { ids }, expected: stored?.revision ?? 0 };
  }

  #take(document: Readonly<ThresholdDocument>): void {
    const { selector } = document;
    this.#book.set(document, selector === undefined ? null : this.selectors.kept(selector));
  }

  /** An alarm may be written while its threshold is removed, or its agent rejected: then nobody else looks at it again. */
  #endWhereStale({ value }: StoredAlarm): void {
    const { registry } = this.#agents;
    if (!registry.isApproved(value.node_id)) this.#work.do(() => this.#drop(value.node_id));
    else if (!this.#book.stands(value, registry.index.get(value.node_id)))
      this.#upkeep.changed(value.threshold_id);
  }

  async #drop(nodeId: string): Promise<void> {
    if (this.#agents.registry.isApproved(nodeId)) return;
    await this.#writer.drop([...this.#book.alarmsOf(nodeId).values()], this.#book.flappingOf(nodeId));
  }
}
