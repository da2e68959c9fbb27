import { Access } from "./access/access.ts";
import { ensureAdmins } from "./access/first-admins.ts";
import { Operators } from "./access/operators.ts";
import { createAgentTraffic } from "./agent-traffic.ts";
import { Agents } from "./agents/agents.ts";
import { Assignments } from "./assignments/assignments.ts";
import { Audit } from "./audit/audit.ts";
import { Backups } from "./backups/backups.ts";
import { systemCaller } from "./callers/caller.ts";
import { createClusterHandlers } from "./cluster-handlers.ts";
import { Context } from "./context.ts";
import { Discovery } from "./discovery/discovery.ts";
import { Drift } from "./drift/drift.ts";
import { EnrolmentTokens } from "./enrolment-tokens/enrolment-tokens.ts";
import { isOrchestratorError, OrchestratorError } from "./errors.ts";
import { EventFeed } from "./event-feed/event-feed.ts";
import { type EventPattern, type Listening, type MatchedType, toListener } from "./event-pattern.ts";
import type { EventListener } from "./events.ts";
import { Figures } from "./figures.ts";
import { Idempotency } from "./idempotency/idempotency.ts";
import { loadIdentity } from "./identity.ts";
import { MaintenanceWindows } from "./maintenance/maintenance.ts";
import { Metrics } from "./metrics/metrics.ts";
import { Modules } from "./modules/modules.ts";
import { Channels } from "./notifications/channels/channels.ts";
import { Notifications } from "./notifications/inbox/notifications.ts";
import { Operations } from "./operations/operations.ts";
import { resolveOptions, type OrchestratorOptions } from "./options.ts";
import { restoredEvent } from "./restores/restored-event.ts";
import { Restores } from "./restores/restores.ts";
import { Rollouts } from "./rollouts/rollouts.ts";
import { Runs } from "./runs/runs.ts";
import { Secrets } from "./secrets/secrets.ts";
import type { ServedAt } from "./served-at.ts";
import { createServices, type Services } from "./services.ts";
import { startFeatures, type End } from "./start-features.ts";
import type { ResourceTypes } from "./state/resource-type.ts";
import { StatusReport } from "./status/status.ts";
import { storageSchema } from "./storage-schema.ts";
import { FleetSummary } from "./summary/summary.ts";
import { tellLosses } from "./tell-losses.ts";
import { Terminals } from "./terminals/terminals.ts";
import { Thresholds } from "./thresholds/thresholds.ts";
import { tellFull } from "./upkeep/full-storage.ts";
import type { Epoch } from "./wire/epoch.ts";

let readServices: (orchestrator: Orchestrator) => Services;

/** The inside of an orchestrator, for our own tests. The package does not export it. @internal */
export function servicesOf(orchestrator: Orchestrator): Services {
  return readServices(orchestrator);
}

/**
 * Orchestrates a fleet of machines, each run by an agent: the whole product as one object to embed.
 *
 * Each feature is a property; each of its verbs takes the caller first and refuses what the caller's role does not allow.
 * What a verb resolves with is on disk, together with its audit event.
 *
 * @example Embed it
 * ```ts
 * import { MemoryStorage, MemoryTransport, Orchestrator, systemCaller } from "fleetwright";
 *
 * await using orchestrator = new Orchestrator({ storage: new MemoryStorage(), transport: new MemoryTransport() });
 * await orchestrator.start();
 * console.log(await orchestrator.status.get(systemCaller));
 * ```
 */
export class Orchestrator {
  /** Signing in, sessions and permissions. */
  readonly access: Access;
  /** Who may sign in. */
  readonly operators: Operators;
  /** The machines of the fleet, and their tags. */
  readonly agents: Agents;
  /** What stands in for an operator's approval of many machines. */
  readonly enrolmentTokens: EnrolmentTokens;
  /** Declared state, uploaded as YAML. */
  readonly modules: Modules;
  /** Which modules go to which agents. */
  readonly assignments: Assignments;
  /** What happens, as it happens. */
  readonly events: EventFeed;
  /** Plans and applies of single machines. */
  readonly operations: Operations;
  /** Plans and applies of assignments, all at once or in batches. */
  readonly rollouts: Rollouts;
  /** Commands on many agents. */
  readonly runs: Runs;
  /** Whether machines are still as they were applied. */
  readonly drift: Drift;
  /** Terminals on machines, each of them recorded. */
  readonly terminals: Terminals;
  /** Values that modules use and nobody reads back. */
  readonly secrets: Secrets;
  /** What operators are told by themselves. */
  readonly notifications: Notifications;
  /** Ways to tell people and programs elsewhere. */
  readonly channels: Channels;
  /** Times in which agents are left alone or are silent. */
  readonly maintenanceWindows: MaintenanceWindows;
  /** What machines measure. */
  readonly metrics: Metrics;
  /** Limits of what machines measure, and alarms where one is crossed. */
  readonly thresholds: Thresholds;
  /** What was done, by whom and when. */
  readonly audit: Audit;
  /** Calls into the local network for agents that have no orchestrator. */
  readonly discovery: Discovery;
  /** Copies of everything, to be restored elsewhere. */
  readonly backups: Backups;
  /** What waits after a restore, and going on. */
  readonly restores: Restores;
  /** Calls that may be sent again without being made again. */
  readonly idempotency: Idempotency;
  /** Counts and durations of the orchestrator itself, for who watches the service. */
  readonly figures: Figures;
  /** The fleet in one look. */
  readonly summary: FleetSummary;
  /** Whether the orchestrator works. */
  readonly status: StatusReport;
  readonly #context: Context;
  readonly #services: Services;
  #ends: End[] = [];
  #starting: Promise<void> | null = null;
  #stopping: Promise<void> | null = null;

  static {
    readServices = (orchestrator: Orchestrator): Services => orchestrator.#services;
  }

  /** @throws {OrchestratorError} `OPTIONS_INVALID` with every fault of the options. */
  constructor(options: OrchestratorOptions) {
    const context = new Context(resolveOptions(options));
    this.#context = context;
    const services = createServices(context);
    this.#services = services;
    this.access = new Access(context, services.access);
    const { operators: registry, sessions } = services.access;
    this.operators = new Operators(context, { registry, sessions });
    this.agents = new Agents(context, services.agents);
    this.enrolmentTokens = new EnrolmentTokens(context);
    this.modules = new Modules(context, services.modules);
    this.assignments = new Assignments(context, services.assignments, services);
    this.events = new EventFeed(context, services.events, services);
    this.operations = new Operations(context, services.operations, services);
    this.rollouts = new Rollouts(context, services.rollouts, services);
    this.runs = new Runs(context, services);
    this.drift = new Drift(context, services.drift, services);
    this.terminals = new Terminals(context, services.terminals, services);
    this.secrets = new Secrets(context, services.secrets);
    this.notifications = new Notifications(context, services.notifications);
    this.channels = new Channels(context, services.notifications);
    this.maintenanceWindows = new MaintenanceWindows(context, services.maintenance);
    this.metrics = new Metrics(context, services.metrics, services);
    this.summary = new FleetSummary(context, services);
    this.thresholds = new Thresholds(context, services.thresholds);
    this.audit = new Audit(context, services.audit);
    this.discovery = new Discovery(context, services.agents);
    this.backups = new Backups(context);
    this.restores = new Restores(context, services);
    this.figures = new Figures(context, services);
    this.idempotency = new Idempotency(services.idempotency);
    this.status = new StatusReport(context, {
      agents: services.agents,
      refusingAgents: () => services.operations.lanes.refusing(),
    });
  }

  /**
   * Opens the storage, takes up what was open when the process ended, and begins to accept agents. Called once.
   *
   * @throws {OrchestratorError} What {@link Storage.open} throws; `KEY_REFUSED` for an unusable key in `adminPublicKeys`; `UNAVAILABLE` after {@link stop}.
   */
  start(): Promise<void> {
    if (this.#stopping === null) return (this.#starting ??= this.#start());
    return Promise.reject(new OrchestratorError("UNAVAILABLE", { message: "It was stopped before." }));
  }

  async #start(): Promise<void> {
    const { storage, cluster, transport, clock, crypto, logger, fleetTime, epochs } = this.#context;
    const { access, agents, events } = this.#services;
    await storage.open(storageSchema);
    this.#ends.push(() => storage.close());
    try {
      this.#ends.push(await this.#context.feed.start());
      this.#ends.push(() => cluster.stop());
      await cluster.start({ clock, crypto, logger }, createClusterHandlers(this.#services));
      this.#ends.push(await fleetTime.start());
      const { secret, signer } = await loadIdentity(storage, crypto);
      this.#context.identity = signer;
      await events.start();
      access.start(secret);
      await epochs.start((write, restore) =>
        this.#context.commitWithReserve(systemCaller, [write], ...(restore ? [restoredEvent(restore)] : [])),
      );
      this.#ends.push(tellFull(this.#context));
      await tellLosses(this.#context);
      await ensureAdmins(this.#context, { registry: access.operators, operators: this.operators });
      await startFeatures(this.#services, { secret, ends: this.#ends });
      const traffic = createAgentTraffic(this.#context, this.#services);
      const orchestratorTime = (): string => fleetTime.timestamp();
      const epoch = (): Epoch | null => epochs.current;
      const isKnownKey = (publicKey: string): boolean => agents.registry.isApprovedKey(publicKey);
      await transport.start({ clock, crypto, logger, signer, orchestratorTime, epoch, isKnownKey }, traffic);
      this.#ends.push(() => traffic.settled());
      this.#ends.push(() => transport.stop());
      this.#context.feed.begin();
    } catch (error) {
      await this.#stop();
      throw error;
    }
  }

  /**
   * Whether requests can be served. A full disk is no reason against it: reads and sign-in go on, and it heals by itself.
   *
   * @throws {OrchestratorError} `STORAGE_FAILED` when nothing is written any more until a restart; `STORAGE_CLOSED`; `UNAVAILABLE` before {@link start}.
   */
  async checkReady(): Promise<void> {
    this.#context.requireStarted();
    try {
      await this.#context.storage.check();
    } catch (error) {
      if (!isOrchestratorError(error, "STORAGE_FULL")) throw error;
    }
  }

  /**
   * Lets go who waits: calls with `wait_seconds` are answered with the state so far, streams end, and so it is from now on. Everything
   * else goes on until {@link stop}. For a server that answers who is there before it stops.
   */
  letGo(): void {
    this.#context.leaving.abort();
  }

  /**
   * Says that agents are let go from now on, to another server or until the next start: none that is not here counts as away any more, and
   * what waits for one goes on when it is back. For a server that drains its transport before it stops.
   */
  beginDrain(): void {
    this.#context.isDraining = true;
  }

  /** Lets agents go, waits for what is being written, and closes the storage. May be called twice; always settles. */
  stop(): Promise<void> {
    // A stop that comes during the start ends what the start made, not the half that is there by then.
    this.#stopping ??= (this.#starting ?? Promise.resolve()).catch(() => {}).then(() => this.#stop());
    return this.#stopping;
  }

  /** As {@link stop}. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  /** Says where agents are served, which announcements name unless `agentUrl` is set. `startServer` calls it when it listens. */
  servedAt(served: ServedAt): void {
    this.#context.served = served;
  }

  /** Hears of every event from now on, each after it is on disk, those of {@link start} at its end; the function returned ends it. */
  listen(listener: EventListener): () => void;
  /**
   * As above, of some events alone: the listener's event has the facts of these.
   *
   * @param types - Types of events, or all of a kind as in `agent.*`.
   * @throws {OrchestratorError} `VALIDATION_FAILED` for a type that there is not.
   */
  listen<const Pattern extends EventPattern>(
    types: readonly Pattern[],
    listener: EventListener<MatchedType<Pattern>>,
  ): () => void;
  listen(...wanted: Listening): () => void {
    return this.#context.feed.listenOnceBegun(toListener(...wanted));
  }

  /** The orchestrator's Ed25519 public key, 32 bytes: what agents pin. There from `start` on. */
  get publicKey(): Uint8Array {
    return this.#context.identity.publicKey;
  }

  /** The types of resources that modules may use, by name: those that ship with the package, and those of `ownTypes`. */
  get resourceTypes(): ResourceTypes {
    return this.#context.types;
  }

  async #stop(): Promise<void> {
    this.beginDrain();
    this.letGo();
    for (const end of this.#ends.reverse()) {
      try {
        await end();
      } catch (error) {
        this.#context.logger.error("A part did not stop well.", { error });
      }
    }
    this.#ends = [];
  }
}
