/**
 * Figures of the server itself for Prometheus: requests, agents, operations, commits, the event loop. Names begin with `fleetwright_server_`,
 * so that they are told from what agents measure.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { Counter, Gauge, Histogram, Registry } from "prom-client";
import type { Orchestrator } from "fleetwright";
import type { RouteNames } from "./route-names.ts";

/** How often the event loop is looked at, milliseconds. */
const loopMs = 20;

/** Seconds by which durations are told apart. */
const requestBuckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];
const commitBuckets = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5];

/** A text of figures and what form it has. */
export interface MetricsText {
  contentType: string;
  body: string;
}

/** Figures of one server. */
export interface OwnMetrics {
  /** Counts a request when it is answered. */
  count(request: IncomingMessage, response: ServerResponse): void;
  /** The figures of now: OpenMetrics where `Accept` names it and wants nothing rather, else the text format of Prometheus. */
  text(accept: string | undefined): Promise<MetricsText>;
  /** Counts nothing any more. */
  stop(): void;
}

/** Begins to count. */
export function createOwnMetrics(orchestrator: Orchestrator, routes: RouteNames): OwnMetrics {
  // The package renames the counters of a register that has written OpenMetrics, so each form has a register of its own.
  const plain = createInstruments(new Registry(), orchestrator);
  const open = createInstruments(openRegistry(), orchestrator);
  const both = [plain, open];
  const ends = [
    orchestrator.figures.onCommit((seconds) => both.forEach(({ commits }) => commits.observe(seconds))),
    orchestrator.figures.onEnded((ended) => both.forEach(({ operations }) => operations.inc({ ...ended }))),
  ];
  const loop = monitorEventLoopDelay({ resolution: loopMs });
  loop.enable();
  return {
    count(request, response) {
      const begun = performance.now();
      const { method = "", url = "" } = request;
      response.once("close", () => {
        const { surface, route } = routes.of(method, url);
        const seconds = (performance.now() - begun) / 1_000;
        const status = String(response.statusCode);
        for (const { requests, durations } of both) {
          requests.inc({ surface, route, status });
          durations.observe({ surface, route }, seconds);
        }
      });
    },
    async text(accept) {
      const { registry, look } = prefersOpen(accept ?? "") ? open : plain;
      await look(loop);
      return { contentType: registry.contentType, body: await registry.metrics() };
    },
    stop() {
      for (const end of ends) end();
      loop.disable();
    },
  };
}

function prefersOpen(accept: string): boolean {
  const open = weightOf("application/openmetrics-text", accept);
  return open > 0 && open >= weightOf("text/plain", accept);
}

/** How much a type is wanted, from 0 to 1. */
function weightOf(wanted: string, accept: string): number {
  const weights = accept
    .toLowerCase()
    .split(",")
    .map((range) => range.split(";").map((part) => part.trim()))
    .filter(([type]) => type === wanted)
    .map((parts) => Number(parts.find((part) => part.startsWith("q="))?.slice(2) ?? 1));
  return Math.max(0, ...weights.filter((weight) => weight <= 1));
}

function openRegistry(): Registry {
  const registry = new Registry();
  registry.setContentType(
    Registry.OPENMETRICS_CONTENT_TYPE as unknown as typeof Registry.PROMETHEUS_CONTENT_TYPE,
  );
  return registry;
}

interface Instruments {
  registry: Registry;
  requests: Counter<"surface" | "route" | "status">;
  durations: Histogram<"surface" | "route">;
  commits: Histogram;
  operations: Counter<"kind" | "status">;
  /** Reads what is not counted as it happens. */
  look(loop: ReturnType<typeof monitorEventLoopDelay>): Promise<void>;
}

function createInstruments(registry: Registry, orchestrator: Orchestrator): Instruments {
  const registers = [registry];
  const gauge = <Label extends string>(name: string, help: string, labelNames: Label[] = []): Gauge<Label> =>
    new Gauge({ name: `fleetwright_server_${name}`, help, labelNames, registers });
  const agents = gauge("agents", "Agents by status.", ["status"]);
  const connected = gauge("connected_agents", "Agents that are connected to this process.");
  const unsettled = gauge("open_operations", "Operations of which more is to come, by status.", ["status"]);
  const auditHead = gauge("audit_head_sequence", "Sequence of the newest entry of the audit log.");
  const lag = gauge("event_loop_lag_seconds", "How late the event loop was since the last look.", [
    "statistic",
  ]);
  const memory = gauge("resident_memory_bytes", "Memory of the process.");
  const cpu = new Counter({
    name: "fleetwright_server_cpu_seconds_total",
    help: "CPU of the process.",
    registers,
  });
  let cpuSeconds = 0;
  return {
    registry,
    requests: new Counter({
      name: "fleetwright_server_requests_total",
      help: "Requests that were answered, by the verb they call.",
      labelNames: ["surface", "route", "status"],
      registers,
    }),
    durations: new Histogram({
      name: "fleetwright_server_request_duration_seconds",
      help: "From the head of a request to the end of its answer; of a stream, its length.",
      labelNames: ["surface", "route"],
      buckets: requestBuckets,
      registers,
    }),
    commits: new Histogram({
      name: "fleetwright_server_commit_duration_seconds",
      help: "How long a change took until it was on disk.",
      buckets: commitBuckets,
      registers,
    }),
    operations: new Counter({
      name: "fleetwright_server_operations_total",
      help: "Operations that ended, by kind and status.",
      labelNames: ["kind", "status"],
      registers,
    }),
    async look(loop) {
      const counts = await orchestrator.figures.count();
      for (const [status, count] of Object.entries(counts.agents)) agents.set({ status }, count);
      for (const [status, count] of Object.entries(counts.open_operations)) unsettled.set({ status }, count);
      connected.set(counts.connected_agents);
      auditHead.set(counts.audit_head);
      setLag(lag, loop);
      memory.set(process.memoryUsage.rss());
      const { user, system } = process.cpuUsage();
      const now = (user + system) / 1_000_000;
      cpu.inc(Math.max(0, now - cpuSeconds));
      cpuSeconds = now;
    },
  };
}

/**
 * What the loop was late beyond the pause between two looks; nothing where there was no look yet. The label is not `quantile`, which Prometheus
 * keeps for summaries.
 */
function setLag(lag: Gauge<"statistic">, loop: ReturnType<typeof monitorEventLoopDelay>): void {
  const late = (nanoseconds: number): number => Math.max(0, nanoseconds / 1e9 - loopMs / 1_000);
  if (loop.count === 0) return;
  lag.set({ statistic: "p50" }, late(loop.percentile(50)));
  lag.set({ statistic: "p99" }, late(loop.percentile(99)));
  lag.set({ statistic: "max" }, late(loop.max));
  loop.reset();
}
