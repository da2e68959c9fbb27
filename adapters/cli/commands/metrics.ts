import { Option, type Command } from "commander";
import type { MetricHistory } from "fleetwright";
import type { CommandCall, Run } from "../call.ts";
import { findAgent } from "../find-agent.ts";
import { integer, moment } from "../options.ts";
import { describeMetrics, matches, sparklinePoints } from "../show-metrics.ts";
import { toLine, toLines, toTable, type Column } from "../text.ts";

/** Seconds between samples, where the server was told nothing else: with a shorter step most would be empty. */
const usualInterval = 15;

/** Series that are enough for anybody to look at: no more are asked for. */
const mostShown = 1_000;

interface MetricsOptions {
  from?: string;
  to?: string;
  step?: number;
  now?: true;
}

type Asked = [agent: string, wanted: string[], options: MetricsOptions];

/** `fleetwright metrics AGENT [SERIES...]` */
export function addMetricsCommand(program: Command, run: Run): void {
  program
    .command("metrics <agent> [series...]")
    .description("show what a machine measured: load, memory, disks, network, and what its owner adds")
    .option(
      "--from <time>",
      "begin, as 2026-01-31T12:00:00Z, or so long ago: 30m, 6h, 7d; default 1h",
      moment,
    )
    .option("--to <time>", "end, in the same forms; default now", moment)
    .addOption(new Option("--now", "the newest sample alone").conflicts(["from", "to", "step"]))
    .option("--step <seconds>", "seconds from one point to the next", integer(1, 2_678_400))
    .action(run((call, ...[agent, wanted, options]: Asked) => show(call, agent, { ...options, wanted })));
}

/** Shows the history of some series, in as many points as a line has room for where nobody says. */
async function show(
  call: CommandCall,
  agent: string,
  { wanted, from = moment("1h"), to, step, now }: MetricsOptions & { wanted: string[] },
): Promise<void> {
  const { node_id, name = node_id } = await findAgent(call.client, agent);
  if (now) return showLatest(call, { node_id, name, wanted });
  const lengthMs = (to === undefined ? Date.now() : Date.parse(to)) - Date.parse(from);
  const step_seconds = step ?? Math.max(usualInterval, Math.round(lengthMs / 1_000 / sparklinePoints));
  const query = { from, ...(to !== undefined && { to }), step_seconds };
  const shown = await readSeries(call, { node_id, query, wanted });
  call.show(shown, (view) => describeMetrics(name, shown, view));
}

interface Question {
  node_id: string;
  query: { from: string; to?: string; step_seconds: number };
  wanted: string[];
}

/** Reads the series that were asked for. An answer has 200 at most: names that come and go may be thousands a day. */
async function readSeries(
  { client }: CommandCall,
  { node_id, query, wanted }: Question,
): Promise<MetricHistory> {
  const series: MetricHistory["series"] = [];
  for (let cursor: string | null = null; ;) {
    const history: MetricHistory = await client.metrics.history(node_id, {
      ...query,
      ...(cursor !== null && { cursor }),
    });
    series.push(...history.series.filter(({ name }) => matches(name, wanted)));
    cursor = history.next_cursor;
    if (cursor === null || series.length >= mostShown) return { ...history, series };
  }
}

async function showLatest(
  call: CommandCall,
  { node_id, name, wanted }: { node_id: string; name: string; wanted: string[] },
): Promise<void> {
  const latest = await call.client.metrics.latest(node_id);
  const values = Object.entries(latest.values).filter(([series]) => matches(series, wanted));
  const told = { ...latest, values: Object.fromEntries(values) };
  call.show(
    told,
    (view) => toLines([toLine(`${name}: ${latest.collected_at}`)]) + toTable(values, latestColumns, view),
  );
}

const latestColumns: readonly Column<[string, number]>[] = [
  ["SERIES", ([name]) => name],
  ["VALUE", ([, value]) => value],
];
