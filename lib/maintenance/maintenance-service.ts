import type { AgentService } from "../agents/agent-service.ts";
import { toTimestamp } from "../clock.ts";
import type { Context, EventInput } from "../context.ts";
import { OrchestratorError } from "../errors.ts";
import type { EventSubject } from "../events.ts";
import type { SelectorCache } from "../selectors/selector-cache.ts";
import { eachDocument } from "../storage/each-document.ts";
import type { StoredDocument } from "../storage/storage.ts";
import type { WindowDocument } from "./documents.ts";
import { WindowBook, type Standing } from "./window-book.ts";
import { WindowRounds } from "./window-rounds.ts";

/** Windows that are over for longer, by a time that follows no clock that jumped ahead, are not read at a start: a clock may yet be set back. */
const overMs = 86_400_000;

/** What keeps work from an agent. */
export interface Freeze {
  window_id: string;
  /** When it ends as things stand, RFC 3339; it may be ended earlier. */
  until: string;
}

/** Which agents are left alone, or are silent: asked by whatever would begin something there or tell of them. */
export class MaintenanceService {
  /** How selectors of windows are read. */
  readonly selectors: SelectorCache;
  readonly #context: Context;
  readonly #agents: AgentService;
  readonly #book: WindowBook;
  readonly #rounds: WindowRounds;
  readonly #watchers: (() => void)[] = [];

  constructor(context: Context, { agents }: { agents: AgentService }) {
    this.#context = context;
    this.#agents = agents;
    this.selectors = agents.registry.selectors;
    this.#book = new WindowBook(context);
    const changed = (): void => {
      for (const watcher of this.#watchers) watcher();
    };
    this.#rounds = new WindowRounds(context, { book: this.#book, changed });
    context.feed.follow<WindowDocument>("maintenance_windows", ({ key, document }) => {
      if (document) this.#take(document.value);
      else this.#book.delete(key);
      this.#rounds.changed(key);
    });
  }

  /** Reads the windows that are not over. Called before anything moves. */
  async load(): Promise<void> {
    const { storage, clock, retentionClock } = this.#context;
    // Where that time can't be told, all of them are read.
    const certainMs = await retentionClock.now().catch(() => 0);
    const query = { index: "by_until", from: Math.min(clock.now(), certainMs) - overMs };
    for await (const { value } of eachDocument<WindowDocument>(storage, "maintenance_windows", query))
      this.#take(value);
    await this.#rounds.load();
  }

  /** Begins to tell of windows that begin and end. */
  start(): void {
    this.#rounds.start();
  }

  /** Tells nothing any more, and waits for what is being written. */
  stop(): Promise<void> {
    return this.#rounds.stop();
  }

  /** Has a watcher hear when windows begin, end or are changed. An agent that a selector matches no longer is not told of. */
  watch(watcher: () => void): void {
    this.#watchers.push(watcher);
  }

  /** What keeps work from an agent now, of several the window that ends last; null where nothing does. */
  freezeOf(nodeId: string): Freeze | null {
    const frozen = this.#of(nodeId).filter(({ document }) => document.mode === "freeze");
    if (frozen.length === 0) return null;
    const last = frozen.reduce((one, other) => (other.to > one.to ? other : one));
    return { window_id: last.document.id, until: toTimestamp(last.to) };
  }

  /**
   * Refuses to begin something on agents all of which are frozen: nothing would come of it now.
   *
   * @throws {OrchestratorError} `MAINTENANCE_WINDOW`.
   */
  requireOpen(nodeIds: readonly string[]): void {
    let freeze: Freeze | null = null;
    for (const nodeId of nodeIds) {
      freeze = this.freezeOf(nodeId);
      if (freeze === null) return;
    }
    if (freeze === null) return;
    const { window_id, until } = freeze;
    throw new OrchestratorError("MAINTENANCE_WINDOW", {
      message: `A maintenance window keeps changes away until ${until}.`,
      details: { window_id, until },
    });
  }

  /**
   * What tells that somebody has something begin in spite of maintenance windows.
   *
   * @param about.target - What is begun, or where.
   */
  overridden(
    nodeIds: readonly string[],
    about: { kind: "apply" | "run"; target: EventSubject; what: string },
  ): EventInput {
    const freezes = nodeIds.map((nodeId) => this.freezeOf(nodeId)).filter((freeze) => freeze !== null);
    return {
      type: "maintenance.overridden",
      target: about.target,
      summary: `${about.what} was requested in spite of maintenance windows`,
      metadata: { window_id: freezes[0]?.window_id ?? null, kind: about.kind, matched: nodeIds.length },
    };
  }

  /** Whether notifications of an agent are silent at an instant, milliseconds since 1970: in a window of either mode. */
  isMuted(nodeId: string, atMs: number): boolean {
    return this.#book.ofAnyTime(this.#agents.registry.index.get(nodeId), atMs).length > 0;
  }

  /** Reads a window; `NOT_FOUND` where there is none. */
  async read(id: string): Promise<StoredDocument<WindowDocument>> {
    const stored = await this.#context.storage.get<WindowDocument>("maintenance_windows", id);
    if (!stored)
      throw new OrchestratorError("NOT_FOUND", { message: `There is no maintenance window ${id}.` });
    return stored;
  }

  #of(nodeId: string): Standing[] {
    const now = this.#context.clock.now();
    // Mostly nothing is active: then nothing else is looked at.
    if (this.#book.active(now).length === 0) return [];
    return this.#book.of(this.#agents.registry.index.get(nodeId), now);
  }

  #take(document: Readonly<WindowDocument>): void {
    const { selector } = document;
    this.#book.set(document, selector === undefined ? null : this.selectors.kept(selector));
  }
}
