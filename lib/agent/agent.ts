/**
 * The agent: the program on a machine that carries out what its orchestrator orders.
 *
 * ```
 * created --start()--> offline <--> pending <--> approved --stop()--> stopped
 *                         |           may only     results, then attributes, are sent;
 *                   operations go on  wait         commands are taken
 * ```
 * At `start`, before anything is dialled, what an earlier process left half done is put in order: the state folder is locked,
 * programs that were running then are ended, what operations that were cut off may have changed is kept in the applied set,
 * and they end `interrupted`.
 */
import { hostname } from "node:os";
import type { Clock } from "../clock.ts";
import { createSystemClock } from "../clock.ts";
import { nodeCrypto } from "../crypto/node-crypto.ts";
import { OrchestratorError, isOrchestratorError } from "../errors.ts";
import type { Host, LeftProgram } from "../host/host.ts";
import { LocalHost } from "../host/local-host.ts";
import type { Logger } from "../logger.ts";
import { silentLogger, toSteadyLogger } from "../logger.ts";
import { resourceTypes } from "../state/resources/index.ts";
import { version as agentVersion } from "../version.ts";
import type { AgentStatus } from "../wire/handshake-messages.ts";
import type { AgentMessage } from "../wire/messages.ts";
import { loadKeys } from "./agent-keys.ts";
import { type AgentLink, createAgentLink } from "./agent-link.ts";
import { type AgentOptions, checkAgentOptions, dialOf } from "./agent-options.ts";
import { AppliedSet } from "./applied-set.ts";
import { AttributeReports } from "./attribute-reports.ts";
import { CommandHandler } from "./command-handler.ts";
import { discoveredBy, type DiscoveredOrchestrator } from "./discovery/discovered-orchestrator.ts";
import { makeFolder } from "./durable-file.ts";
import type { EnrolmentToken } from "./enrolment-token.ts";
import type { AgentLinkHandlers } from "./link-connection.ts";
import { type AgentMetrics, metricsBy } from "./metrics/agent-metrics.ts";
import { OperationJournal } from "./operation-journal.ts";
import { OperationRunner } from "./operation-runner.ts";
import { createOpenSecrets } from "./operation-secrets.ts";
import { randomOf } from "./random.ts";
import { recoverCutOff } from "./recovery.ts";
import { ResultDelivery } from "./result-delivery.ts";
import { StateLock } from "./state-lock.ts";
import { type AgentTerminals, terminalsBy } from "./terminal/agent-terminals.ts";

/** What of an agent lives between `start` and `stop`. */
interface RunningAgent {
  lock: StateLock;
  link: AgentLink;
  runner: OperationRunner;
  delivery: ResultDelivery;
  attributes: AttributeReports;
  /** Null where nothing is measured. */
  metrics: AgentMetrics | null;
  commands: CommandHandler;
  token: EnrolmentToken;
  terminals: AgentTerminals;
  discovered: DiscoveredOrchestrator | null;
}

/** The program on a machine. Its life is at the head of this file. */
export class AgentProgram {
  readonly #options: AgentOptions;
  readonly #clock: Clock;
  readonly #logger: Logger;
  #running: RunningAgent | null = null;
  #nodeId: string | null = null;
  /** The orchestrator's clock as of the last connection, less our count of milliseconds, which nobody can set. */
  #orchestratorStartMs: number;
  #isStarted = false;
  #isStopped = false;
  #starting: Promise<void> | null = null;
  /** What `stop` waits for. */
  #stopping: RunningAgent | null = null;
  #resolveDone: () => void = () => {};
  /** Resolves when the agent has stopped. */
  readonly done: Promise<void> = new Promise((resolve) => (this.#resolveDone = resolve));

  /** @throws {OrchestratorError} `OPTIONS_INVALID` with every fault of the options. */
  constructor(options: AgentOptions) {
    checkAgentOptions(options);
    this.#options = options;
    this.#clock = options.clock ?? createSystemClock({ keepsAlive: true });
    this.#orchestratorStartMs = this.#clock.now() - this.#clock.monotonic();
    this.#logger = toSteadyLogger(options.logger ?? silentLogger);
  }

  /** How the orchestrator knows the agent; null before `start`. */
  get nodeId(): string | null {
    return this.#nodeId;
  }

  /** Where the agent stands with its orchestrator. */
  get status(): AgentLink["status"] {
    return this.#running?.link.status ?? "offline";
  }

  /**
   * Puts in order what an earlier process left, then begins to dial. Resolves before there is a connection. Called once.
   * From then on the agent keeps its process alive until it is stopped, also while its orchestrator can't be reached.
   *
   * @throws {OrchestratorError} `STORAGE_LOCKED` where another agent uses the state folder; `STORAGE_CORRUPT` for damaged
   * files in it; `STORAGE_FULL`, `STORAGE_FAILED`.
   * @throws {OrchestratorError} `ORCHESTRATOR_KEY_CHANGED` where another key than `orchestratorKey` is pinned;
   * `KEY_REFUSED` where it is no key; `CONFIGURATION_INVALID` where `root` is no folder; `ADDRESS_IN_USE` where no announcements can be heard.
   */
  async start(): Promise<void> {
    if (this.#isStarted)
      throw new OrchestratorError("INTERNAL", { message: "The agent is started already." });
    this.#isStarted = true;
    await (this.#starting = this.#begin());
  }

  async #begin(): Promise<void> {
    const { stateDir } = this.#options;
    makeFolder(stateDir);
    const lock = new StateLock(stateDir);
    try {
      const host = this.#options.host ?? this.#localHost();
      // Absent, there is nothing to wait for: who starts many agents has them all at once.
      const left = host.endLeftPrograms ? await host.endLeftPrograms() : [];
      for (const { program, processes } of left)
        this.#logger.warn("A program that was left running was ended.", { program, processes });
      if (this.#isStopped) return lock.release();
      const running = await this.#build(lock, { host, left });
      // Stopped while it was put in order.
      if (this.#isStopped) return lock.release();
      await running.discovered?.start();
      this.#running = running;
      void running.metrics?.start();
      running.link.start();
    } catch (error) {
      lock.release();
      throw error;
    }
  }

  /**
   * Ends the operation that runs after the change in progress, tells the orchestrator, and hangs up. May be called twice.
   *
   * @param options - `now` cuts the change in progress: its program is ended with all that it started, which takes five
   * seconds where that ignores SIGTERM. Also for a stop that was begun without it.
   */
  async stop({ now = false }: { now?: boolean } = {}): Promise<void> {
    this.#isStopped = true;
    // Why it could not start is told to whoever started it.
    await this.#starting?.catch(() => {});
    const running = this.#running;
    this.#running = null;
    this.#isStarted = true;
    this.#stopping ??= running;
    if (now) this.#stopping?.runner.cut();
    if (running) {
      running.terminals.endAll();
      running.metrics?.stop();
      running.attributes.stop();
      await running.runner.stop();
      running.delivery.pause();
      running.discovered?.stop();
      await running.link.stop();
      running.lock.release();
    }
    // Nothing runs that a call before this one waits for: it was never started, could not be, or was stopped before it had.
    if (running || this.#stopping === null) this.#resolveDone();
    await this.done;
  }

  /** As {@link stop}. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  #localHost(): Host {
    const { stateDir, root } = this.#options;
    return new LocalHost({ stateFolder: stateDir, clock: this.#clock, ...(root !== undefined && { root }) });
  }

  async #build(
    lock: StateLock,
    { host, left }: { host: Host; left: readonly LeftProgram[] },
  ): Promise<RunningAgent> {
    const { stateDir, root, crypto = nodeCrypto, types = resourceTypes, keptResults = {} } = this.#options;
    const clock = this.#clock;
    const logger = this.#logger;
    const keys = { stateDir, crypto, logger };
    const { identity, pin, epochs, token } = loadKeys(keys, this.#options);
    const applied = new AppliedSet(stateDir);
    const orchestratorNow = (): number => this.#orchestratorStartMs + clock.monotonic();
    const journal = new OperationJournal({ stateDir, clock, logger, orchestratorNow, keptResults });
    await recoverCutOff({ journal, applied, host, types, clock, logger, left });
    const send = (message: AgentMessage): boolean => this.#send(link, message);
    const attributes = new AttributeReports({ stateDir, root, host, clock, logger, send });
    const sendAttributes = (): void => attributes.report();
    const delivery = new ResultDelivery({ journal, applied, clock, logger, send });
    const runner = new OperationRunner({
      journal,
      applied,
      host,
      clock,
      logger,
      types,
      openSecrets: createOpenSecrets(identity, crypto),
      orchestratorNow,
      runsCommands: this.#options.commands ?? true,
      progress: send,
      ended({ result, changed }) {
        delivery.deliver(result.operation_id);
        if (changed) sendAttributes();
      },
    });
    const metrics = metricsBy(this.#options, { stateDir, host, clock, logger, orchestratorNow, send });
    const sendStream = (streamId: string, data: Uint8Array): boolean =>
      this.#attempt("stream", () => link.sendStream(streamId, data));
    const terminals = terminalsBy(this.#options, { nodeId: identity.node_id, logger, send, sendStream });
    const parts = { runner, delivery, metrics, terminals, logger };
    const commands = new CommandHandler({ ...parts, orchestratorNow, send, sendAttributes });
    const random = (): number => randomOf(crypto);
    const { signer } = identity;
    const self = { signer, agentVersion, hostname: hostname() };
    const found = (): void => link.comeSooner();
    const discovered = discoveredBy(this.#options, { ...keys, ...self, clock, random, pin, found });
    const link: AgentLink = createAgentLink({
      dial: discovered?.dial ?? dialOf(this.#options),
      clock,
      crypto,
      pin: discovered?.pin ?? pin,
      epochs,
      enrolmentToken: () => token.get(),
      logger,
      random,
      identity: { signer, boxPublicKey: identity.box.publicKey },
      description: { agent_version: agentVersion, hostname: self.hostname, platform: process.platform },
      handlers: this.#handlers(),
    });
    this.#nodeId = identity.node_id;
    return { lock, link, runner, delivery, attributes, metrics, commands, token, discovered, terminals };
  }

  #handlers(): AgentLinkHandlers {
    return {
      accepted: (status, orchestratorTime, { hasSentToken }) => {
        this.#orchestratorStartMs = Date.parse(orchestratorTime) - this.#clock.monotonic();
        this.#running?.discovered?.accepted();
        this.#running?.metrics?.accepted();
        this.#changeStatus(status, hasSentToken);
      },
      statusChanged: (status, { hasSentToken }) => this.#changeStatus(status, hasSentToken),
      command: async (command) => this.#running?.commands.handle(command),
      stream: async (streamId, data) => this.#running?.terminals.type(streamId, data),
      down: (ending) => {
        this.#rest();
        const { needsSomebody = false, ...fields } = ending;
        const level = ending.code !== null ? "error" : needsSomebody ? "warn" : "info";
        this.#logger[level]("There is no connection to the orchestrator.", fields);
      },
    };
  }

  #changeStatus(status: AgentStatus, hasSentToken: boolean): void {
    this.#logger.info("The orchestrator answered.", { status });
    const running = this.#running;
    if (!running) return;
    if (running.token.answered(status, hasSentToken)) running.link.hangUp("to bring the enrolment token");
    if (status !== "approved") return this.#rest();
    // Results first: others wait for them.
    running.delivery.begin();
    running.attributes.begin();
    running.metrics?.begin();
  }

  /** Nothing may be sent: nobody sees a terminal any more, and what tells again and again waits for the next connection. */
  #rest(): void {
    const running = this.#running;
    running?.terminals.endAll();
    for (const part of [running?.delivery, running?.attributes, running?.metrics]) part?.pause();
  }

  /** False where it can't be sent now: what must arrive is sent again after the next connection. */
  #send(link: AgentLink, message: AgentMessage): boolean {
    return this.#attempt(message.type, () => link.send(message));
  }

  #attempt(type: string, send: () => void): boolean {
    try {
      send();
      return true;
    } catch (error) {
      if (isOrchestratorError(error, "AGENT_OFFLINE") || isOrchestratorError(error, "AGENT_NOT_APPROVED"))
        return false;
      this.#logger.error("A message could not be sent.", { type, error });
      return false;
    }
  }
}

/** Makes an agent that is not started yet. */
export function createAgent(options: AgentOptions): AgentProgram {
  return new AgentProgram(options);
}
