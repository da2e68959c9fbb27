/** What an agent measures: collects, keeps, and brings it to the orchestrator. */
import { join } from "node:path";
import type { Clock, Timer } from "../../clock.ts";
import type { Host } from "../../host/host.ts";
import type { Logger } from "../../logger.ts";
import type { AgentMessage } from "../../wire/messages.ts";
import { machineOf, type AgentOptions } from "../agent-options.ts";
import { CustomMetrics } from "./custom-metrics.ts";
import type { MeasuredMachine, Values } from "./measured-machine.ts";
import { MetricDelivery } from "./metric-delivery.ts";
import { OtherCollector } from "./other-collector.ts";
import { ProcCollector } from "./proc-collector.ts";
import { SampleBacklog } from "./sample-backlog.ts";
import { mostSeries } from "./series-name.ts";

/** How often samples are taken where the orchestrator says nothing else. */
export const defaultIntervalSeconds = 15;
/** The first sample comes sooner, so that a machine that has just come shows something. */
const firstMs = 2_000;
/** How far what is known of the orchestrator's time may change from one connection to the next, by what the network takes. */
const toleranceMs = 60_000;

/** What measuring takes. */
export interface AgentMetricsOptions {
  machine: MeasuredMachine;
  stateDir: string;
  /** Runs the programs of the machine's owner. */
  host: Host;
  clock: Clock;
  logger: Logger;
  /** The orchestrator's clock, as far as it is known: milliseconds since 1970. */
  orchestratorNow: () => number;
  /** Sends a message; false where there is no connection for it. */
  send: (message: AgentMessage) => boolean;
}

/** What an agent measures. */
export class AgentMetrics {
  readonly #options: AgentMetricsOptions;
  readonly #backlog: SampleBacklog;
  readonly #delivery: MetricDelivery;
  readonly #collector: { collect(monotonicMs: number): Promise<Values> };
  readonly #custom: CustomMetrics;
  #intervalMs = defaultIntervalSeconds * 1_000;
  #dueMs = 0;
  #timer: Timer | null = null;
  #isRunning = false;
  #isCollecting = false;
  /** Whether the orchestrator has told its time to this process: until then the machine's own clock is all there is. */
  #isTimeKnown = false;

  constructor(options: AgentMetricsOptions) {
    const { machine, stateDir, logger } = options;
    this.#options = options;
    this.#backlog = new SampleBacklog(join(stateDir, "metrics"), logger);
    this.#delivery = new MetricDelivery({ ...options, backlog: this.#backlog });
    this.#custom = new CustomMetrics(options);
    this.#collector =
      machine.kind === "proc" ? new ProcCollector(machine) : new OtherCollector(machine, logger);
  }

  /** Begins to take samples. */
  async start(): Promise<void> {
    this.#isRunning = true;
    const { clock } = this.#options;
    this.#dueMs = clock.monotonic() + Math.min(firstMs, this.#intervalMs);
    this.#arm();
    // The counters of now are what the first rates are from.
    await this.#collect(clock.monotonic());
  }

  /** Takes no samples any more, and sends none. */
  stop(): void {
    this.#isRunning = false;
    this.#timer?.cancel();
    this.#delivery.pause();
    this.#custom.stop();
  }

  /** The orchestrator took the agent in, and told its time. Until it says otherwise, samples are taken as often as by default. */
  accepted(): void {
    this.#isTimeKnown = true;
    this.#dropFuture();
    this.configure(defaultIntervalSeconds);
  }

  /** There is a connection over which samples may be sent. */
  begin(): void {
    this.#delivery.begin();
  }

  /** There is none any more. */
  pause(): void {
    this.#delivery.pause();
  }

  /** Takes samples so often from now on. */
  configure(seconds: number): void {
    const now = this.#options.clock.monotonic();
    this.#intervalMs = seconds * 1_000;
    if (this.#timer === null || this.#dueMs <= now + this.#intervalMs) return;
    this.#dueMs = now + this.#intervalMs;
    this.#arm();
  }

  /** The orchestrator has the samples up to a time on disk, or will never take them. */
  acknowledge(throughMs: number): void {
    this.#delivery.acknowledge(throughMs);
  }

  #arm(): void {
    this.#timer?.cancel();
    if (!this.#isRunning) return;
    const { clock } = this.#options;
    this.#timer = clock.setTimer(Math.max(0, this.#dueMs - clock.monotonic()), () => {
      const now = clock.monotonic();
      // In step with the time before, so that samples do not drift; what was slept through is not made up for.
      this.#dueMs = Math.max(this.#dueMs + this.#intervalMs, now + this.#intervalMs / 2);
      this.#arm();
      void this.#take(now);
    });
  }

  async #take(monotonicMs: number): Promise<void> {
    const begunAt = Math.floor(this.#options.orchestratorNow());
    const values = await this.#collect(monotonicMs);
    if (!values || !this.#isRunning) return;
    if (this.#isTimeKnown) this.#dropFuture();
    // The time may have been learned meanwhile, and a sample of the future would have all up to it pass for sent again.
    const at = Math.min(begunAt, Math.floor(this.#options.orchestratorNow()));
    // A clock that went back: the sample has no time of its own.
    if (at <= this.#backlog.newestAt) return;
    const sample = { at, values };
    this.#backlog.add(sample);
    this.#delivery.taken(sample);
  }

  /** The figures of now; null where those before are not all there yet, or none can be had. */
  async #collect(monotonicMs: number): Promise<Values | null> {
    if (this.#isCollecting) return null;
    this.#isCollecting = true;
    const late = this.#half();
    try {
      const measured = this.#collector.collect(monotonicMs);
      const [custom, values] = await Promise.all([this.#custom.collect(late.passed, measured), measured]);
      return firstOf({ ...values, ...custom });
    } catch (error) {
      this.#options.logger.error("A sample could not be taken.", { error });
      return null;
    } finally {
      this.#isCollecting = false;
      late.timer.cancel();
    }
  }

  /** Half of the time until the next sample. */
  #half(): { passed: Promise<null>; timer: Timer } {
    let timer: Timer = { cancel: () => {} };
    const passed = new Promise<null>((resolve) => {
      timer = this.#options.clock.setTimer(this.#intervalMs / 2, () => resolve(null));
    });
    return { passed, timer };
  }

  /** Drops what was taken with a time that has not come. */
  #dropFuture(): void {
    const latest = this.#options.orchestratorNow() + toleranceMs;
    if (this.#backlog.newestAt <= latest) return;
    this.#options.logger.warn("Samples of a time that has not come were dropped: the clock was wrong.");
    this.#backlog.dropAfter(latest);
    this.#delivery.forgetAfter(this.#backlog.newestAt);
  }
}

/** As many as an agent may have, of those that are numbers. */
function firstOf(values: Values): Values {
  const entries = Object.entries(values).filter(([, value]) => Number.isFinite(value));
  return Object.fromEntries(entries.slice(0, mostSeries));
}

/** What measures the machine of an agent; null where nothing is measured. */
export function metricsBy(
  options: AgentOptions,
  parts: Omit<AgentMetricsOptions, "machine">,
): AgentMetrics | null {
  const machine = machineOf(options, parts.clock);
  return machine && new AgentMetrics({ ...parts, machine });
}
