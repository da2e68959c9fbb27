import { Authorizer, type Denial } from "./callers/authorizer.ts";
import { systemCaller, toSubject, type Caller } from "./callers/caller.ts";
import type { Permission } from "./callers/permissions.ts";
import type { Clock } from "./clock.ts";
import { toTimestamp } from "./clock.ts";
import type { Cluster } from "./cluster/cluster.ts";
import { Contents } from "./contents/contents.ts";
import type { Crypto, Signer } from "./crypto/crypto.ts";
import { Epochs } from "./epochs.ts";
import { OrchestratorError } from "./errors.ts";
import type { NoMetadata } from "./event-facts.ts";
import type { EventMetadata } from "./event-metadata.ts";
import {
  eventTable,
  type EventSubject,
  type EventType,
  type OrchestratorEvent,
  type Severity,
} from "./events.ts";
import { eventLog, missingRecord } from "./feed/event-record.ts";
import { Feed } from "./feed/feed.ts";
import { FleetTime } from "./fleet-time.ts";
import { createIds, type Ids } from "./ids.ts";
import { SlicedWork } from "./internal/work.ts";
import { toJsonObject, type JsonObject } from "./json.ts";
import type { Logger } from "./logger.ts";
import type { ResolvedOptions } from "./options.ts";
import { References } from "./references.ts";
import type { Cron } from "./schedules/cron.ts";
import type { ServedAt } from "./served-at.ts";
import { resourceTypesWith } from "./state/own-types.ts";
import type { ResourceTypes } from "./state/resource-type.ts";
import type { CommitResult, Storage, Write } from "./storage/storage.ts";
import type { Transport } from "./transport/transport.ts";
import { RetentionClock } from "./upkeep/retention-clock.ts";

/** The log that audited events are appended to. */
export const auditLog = "audit";

/** What a feature says of something that happened, with the facts that its type has; the rest of the event is filled in. */
export type EventInput<Type extends EventType = EventType> = { [Each in Type]: InputOf<Each> }[Type];

type InputOf<Type extends EventType> = {
  type: Type;
  summary: string;
  target?: EventSubject;
  /** Absent = that of the type. */
  severity?: Severity;
} & (EventMetadata[Type] extends NoMetadata
  ? { metadata?: EventMetadata[Type] }
  : { metadata: EventMetadata[Type] });

interface AuditedCommit {
  caller: Caller;
  writes: readonly Write[];
  inputs: readonly EventInput[];
  reserve: boolean;
}

/** What every feature is given. */
export class Context {
  readonly storage: Storage;
  readonly transport: Transport;
  /** The other processes of the orchestrator. */
  readonly cluster: Cluster;
  readonly clock: Clock;
  readonly crypto: Crypto;
  readonly ids: Ids;
  readonly cron: Cron;
  readonly logger: Logger;
  readonly options: ResolvedOptions;
  /** Types of resources that modules may use. */
  readonly types: ResourceTypes;
  /** Tells what is committed, in one order. */
  readonly feed: Feed;
  readonly references = new References();
  /** Holds callers to what they may. */
  readonly authorizer: Authorizer;
  /** What documents refer to by its hash. */
  readonly contents: Contents;
  /** Does what takes long, so that nobody waits for all of it. */
  readonly work = new SlicedWork();
  /** The time by which what is old is removed. */
  readonly retentionClock: RetentionClock;
  /** The time of deadlines, which never goes back. */
  readonly fleetTime: FleetTime;
  /** A key that does not lie in the storage, for hashes of inputs that hold secrets; null where there is none. */
  inputKey: (() => Promise<Uint8Array>) | null = null;
  /** Where agents are served; null while nobody said. */
  served: ServedAt | null = null;
  /** Which life of its data the orchestrator leads, and what waits after a restore. */
  readonly epochs: Epochs;
  /** Who makes what the start itself makes. */
  readonly starter: Caller = { ...systemCaller };
  /** Whether agents are being let go because the process is about to end: who is not here is not away. */
  isDraining = false;
  /** Aborted when the process is about to end: from then on nobody waits for anything. */
  readonly leaving = new AbortController();
  readonly #commitListeners = new Set<(seconds: number) => void>();
  readonly #refusalListeners = new Set<(error: unknown) => void>();
  /** Events that could not be written, and for which nothing stands in the log yet. */
  #missing = 0;
  #identity: Signer | null = null;

  constructor(options: ResolvedOptions) {
    this.storage = options.storage;
    this.transport = options.transport;
    this.cluster = options.cluster;
    this.clock = options.clock;
    this.crypto = options.crypto;
    this.ids = createIds(options.clock, options.crypto);
    this.cron = options.cron;
    this.logger = options.logger;
    this.options = options;
    this.feed = new Feed({ ...options, ids: this.ids });
    this.types = resourceTypesWith(options.ownTypes);
    this.contents = new Contents(options);
    this.retentionClock = new RetentionClock(options);
    this.fleetTime = new FleetTime(options);
    this.epochs = new Epochs({ ...options, ids: this.ids, feed: this.feed });
    this.authorizer = new Authorizer(options.clock, (denial) => this.#recordDenial(denial));
  }

  /** The orchestrator's own key; there from `start` on. */
  get identity(): Signer {
    if (!this.#identity) throw notStarted();
    return this.#identity;
  }

  set identity(signer: Signer) {
    this.#identity = signer;
  }

  /**
   * Refuses a caller who lacks a permission, and records the refusal.
   *
   * @throws {OrchestratorError} `UNAVAILABLE` before the orchestrator is started; `UNAUTHENTICATED`; `FORBIDDEN`.
   */
  authorize(caller: Caller, permission: Permission): Promise<void> {
    if (!this.feed.isBegun && caller !== this.starter) return Promise.reject(notStarted());
    return this.authorizer.authorize(caller, permission);
  }

  /**
   * Refuses a caller who has a permission, but not for this thing, and records the refusal.
   *
   * @throws {OrchestratorError} `UNAUTHENTICATED`; `FORBIDDEN`.
   */
  refuse(caller: Caller, refused: Required<Omit<Denial, "caller" | "unrecorded">>): Promise<never> {
    return this.authorizer.refuse(caller, refused);
  }

  /** @throws {OrchestratorError} `UNAVAILABLE` before the orchestrator is started. */
  requireStarted(): void {
    if (!this.feed.isBegun) throw notStarted();
  }

  /** The present instant, as every boundary writes it. */
  timestamp(): string {
    return toTimestamp(this.clock.now());
  }

  /** Has a listener hear how long each commit took, in seconds. The function returned ends it. */
  onCommit(listener: (seconds: number) => void): () => void {
    this.#commitListeners.add(listener);
    return () => void this.#commitListeners.delete(listener);
  }

  /** Has a listener hear why the storage refused a commit. The function returned ends it. */
  onRefusal(listener: (error: unknown) => void): () => void {
    this.#refusalListeners.add(listener);
    return () => void this.#refusalListeners.delete(listener);
  }

  /** Commits documents together with the events that tell of them, as one durable step. */
  commit(caller: Caller, writes: readonly Write[], ...inputs: EventInput[]): Promise<CommitResult> {
    return this.#commit({ caller, writes, inputs, reserve: false });
  }

  /** The same for what must go on when the disk is full; see {@link CommitOptions}. */
  commitWithReserve(
    caller: Caller,
    writes: readonly Write[],
    ...inputs: EventInput[]
  ): Promise<CommitResult> {
    return this.#commit({ caller, writes, inputs, reserve: true });
  }

  /**
   * Commits what nobody asked for, such as that an agent came. Never rejects: where there is no space for its event, say, the stream
   * of events says later that something is missing.
   */
  async tell(type: EventType, commit: () => Promise<unknown>): Promise<void> {
    try {
      await commit();
    } catch (error) {
      this.#missing += 1;
      this.logger.warn("An event could not be written.", { error, event_type: type });
    }
  }

  /**
   * What is read of something after the commit that made it, or what that commit made where it can't be read: a call that took effect
   * must not fail for want of its answer.
   *
   * @param committed - As it is on disk since the commit, with whatever was read before.
   */
  async readBack<T>(read: () => Promise<T>, committed: T): Promise<T> {
    try {
      return await read();
    } catch (error) {
      this.logger.warn("A call took effect, and could not be answered with anything newer.", { error });
      return committed;
    }
  }

  async #commit({ caller, writes, inputs, reserve }: AuditedCommit): Promise<CommitResult> {
    if (inputs.length === 0) return this.#write(caller, writes, reserve);
    const missing = this.#missing;
    const told = missing > 0 ? [this.#toEntry(eventLog, missingRecord(this.ids.next(), missing))] : [];
    const entries = inputs.flatMap((input) => this.#toEntries(this.#toEvent(caller, input)));
    this.#missing = 0;
    try {
      return await this.#write(caller, [...writes, ...told, ...entries], reserve);
    } catch (error) {
      this.#missing += missing;
      throw error;
    }
  }

  /** With the claim of the call, where nothing was written for it yet. What is only told, such as a refusal, claims nothing. */
  async #write(caller: Caller, writes: readonly Write[], reserve: boolean): Promise<CommitResult> {
    const begunMs = this.clock.monotonic();
    try {
      return await this.#writeClaimed(caller, writes, reserve);
    } catch (error) {
      for (const listener of this.#refusalListeners) listener(error);
      throw error;
    } finally {
      const seconds = (this.clock.monotonic() - begunMs) / 1_000;
      for (const listener of this.#commitListeners) listener(seconds);
    }
  }

  async #writeClaimed(caller: Caller, writes: readonly Write[], reserve: boolean): Promise<CommitResult> {
    const claim = caller.kind === "operator" ? caller.claim : undefined;
    const ridden = writes.some(({ kind }) => kind !== "append") ? (claim?.ride() ?? null) : null;
    if (claim === undefined || ridden === null) return this.storage.commit(writes, { reserve });
    try {
      const { revisions, sequences } = await this.storage.commit([...writes, ridden], { reserve });
      claim.landed(revisions.at(-1) ?? 0);
      return { revisions: revisions.slice(0, -1), sequences: sequences.slice(0, -1) };
    } catch (error) {
      throw claim.missed(error);
    }
  }

  #recordDenial({ caller, permission, needed, target, unrecorded }: Denial): Promise<unknown> {
    const where = target ? ` on ${target.name}: it is somebody else's` : "";
    return this.commit(caller, [], {
      type: "access.denied",
      ...(target && { target }),
      summary: `${caller.username} (${caller.role}) may not use ${permission}${where}`,
      metadata: { permission, needed, ...(unrecorded > 0 && { unrecorded }) },
    });
  }

  #toEvent(caller: Caller, input: EventInput): OrchestratorEvent {
    // Type and facts belong together in what was given; the compiler does not follow that through a union.
    return {
      id: this.ids.next(),
      timestamp: this.timestamp(),
      event_type: input.type,
      severity: input.severity ?? eventTable[input.type].severity,
      actor: toSubject(caller),
      ...(input.target && { target: input.target }),
      summary: input.summary,
      metadata: input.metadata ?? {},
      ...caller.origin,
    } as OrchestratorEvent;
  }

  /** An event where audit finds it, and where streams do: in this order, which has it made ready once. */
  #toEntries(event: OrchestratorEvent): Write[] {
    const value = toJsonObject(event);
    const streamed = this.#toEntry(eventLog, value);
    return eventTable[event.event_type].audited ? [this.#toEntry(auditLog, value), streamed] : [streamed];
  }

  #toEntry(log: string, value: JsonObject): Write {
    return { kind: "append", log, at: this.clock.now(), value };
  }
}

function notStarted(): OrchestratorError {
  return new OrchestratorError("UNAVAILABLE", {
    message: "The orchestrator is not started: wait for start() first.",
  });
}
