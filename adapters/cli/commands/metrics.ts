import { Option, type Command } from "commander";
import type { MetricHistory } from "fleetwright";
import type { CommandCall, Run } from "../call.ts";
import { findAgent } from "../find-agent.ts";
import { didYouMean, notFound } from "../find-id.ts";
import { integer, moment, type Moment } from "../options.ts";
import { describeMetrics, matches, sparklinePoints } from "../show-metrics.ts";
import { toLine, toLines, toTable, type Column } from "../text.ts";

/** Seconds between samples, where the server was told nothing else: with a shorter step most would be empty. */
const usualInterval = 15;

const hourMs = 3_600_000;

/** The longest step that can be asked for: a month, in seconds. */
const longestStep = 2_678_400;

/** Series that are enough for anybody to look at: no more are asked for. */
const mostShown = 1_000;

interface MetricsOptions {
  from?: Moment;
  to?: Moment;
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
      "begin, as 2026-01-31T12:00:00Z, or so long ago: 30m, 6h, 7d; default an hour before the end",
      moment,
    )
    .option("--to <time>", "end, in the same forms; default now", moment)
    .addOption(new Option("--now", "the newest sample alone").conflicts(["from", "to", "step"]))
    .option("--step <seconds>", "seconds from one point to the next", integer(1, longestStep))
    .action(run((call, ...[agent, wanted, options]: Asked) => show(call, agent, { ...options, wanted })));
}

/** Shows the history of some series, in as many points as a line has room for where nobody says. */
async function show(
  call: CommandCall,
  agent: string,
  { wanted, from, to, step, now }: MetricsOptions & { wanted: string[] },
): Promise<void> {
  const { node_id, name = node_id } = await findAgent(call.client, agent);
  if (now) return showLatest(call, { node_id, name, wanted });
  const lengthMs = from === undefined ? hourMs : timeOf(to) - timeOf(from);
  const suited = Math.max(usualInterval, Math.round(lengthMs / 1_000 / sparklinePoints));
  const step_seconds = step ?? Math.min(suited, longestStep);
  const query = { ...toAsked("from", from), ...toAsked("to", to), step_seconds };
  const { shown, seen } = await readSeries(call, { node_id, query, wanted });
  // Of more than are read, one that was not met may be among the rest.
  const missing = shown.next_cursor === null ? missingOf(wanted, seen) : [];
  if (missing.length < wanted.length || missing.length === 0)
    call.show(shown, (view) => describeMetrics(name, shown, view));
  refuseMissing(missing, seen, `was measured on ${name} between ${shown.from} and ${shown.to}`);
}

/** A time by the clock of this machine, which decides of nothing but how many points there are. */
function timeOf(time: Moment | undefined): number {
  if (time === undefined) return Date.now();
  return "at" in time ? Date.parse(time.at) : Date.now() - time.secondsAgo * 1_000;
}

/** One end of a range in the words of the API. */
function toAsked(end: "from" | "to", time: Moment | undefined): Record<string, string | number> {
  if (time === undefined) return {};
  return "at" in time ? { [end]: time.at } : { [`${end}_seconds_ago`]: time.secondsAgo };
}

/** What was asked for that no series is. Where nothing at all was measured, no name is wrong. */
function missingOf(wanted: readonly string[], seen: readonly string[]): string[] {
  if (seen.length === 0) return [];
  return wanted.filter((each) => !seen.some((name) => matches(name, [each])));
}

/** Says which names no series has, with those that may have been meant: a slip is not to look like a machine that measures nothing. */
function refuseMissing(missing: readonly string[], seen: readonly string[], what: string): void {
  if (missing.length === 0) return;
  const known = [...new Set(seen.flatMap(waysToName))];
  const told = missing.map((each) => `No series ${JSON.stringify(each)} ${what}.${didYouMean(each, known)}`);
  throw notFound(told.join(" "));
}

/** A name, and all beginnings of it that ask for it. */
function waysToName(name: string): string[] {
  const metric = name.split("{", 1)[0] ?? name;
  const parts = metric.split(".");
  return [name, ...parts.map((_, index) => parts.slice(0, index + 1).join("."))];
}

interface Question {
  node_id: string;
  query: { step_seconds: number };
  wanted: string[];
}

/** Reads the series that were asked for. An answer has 200 at most: names that come and go may be thousands a day. */
async function readSeries(
  { client }: CommandCall,
  { node_id, query, wanted }: Question,
): Promise<{ shown: MetricHistory; seen: string[] }> {
  const series: MetricHistory["series"] = [];
  const seen: string[] = [];
  for (let cursor: string | null = null; ;) {
    const history: MetricHistory = await client.metrics.history(node_id, {
      ...query,
      ...(cursor !== null && { cursor }),
    });
    seen.push(...history.series.map(({ name }) => name));
    series.push(...history.series.filter(({ name }) => matches(name, wanted)));
    cursor = history.next_cursor;
    if (cursor === null || series.length >= mostShown) return { shown: { ...history, series }, seen };
  }
}

async function showLatest(
  call: CommandCall,
  { node_id, name, wanted }: { node_id: string; name: string; wanted: string[] },
): Promise<void> {
  const latest = await call.client.metrics.latest(node_id);
  const seen = Object.keys(latest.values);
  const missing = missingOf(wanted, seen);
  const values = Object.entries(latest.values).filter(([series]) => matches(series, wanted));
  const told = { ...latest, values: Object.fromEntries(values) };
  if (missing.length < wanted.length || missing.length === 0)
    call.show(
      told,
      (view) => toLines([toLine(`${name}: ${latest.collected_at}`)]) + toTable(values, latestColumns, view),
    );
  refuseMissing(missing, seen, `was measured on ${name} at ${latest.collected_at}`);
}

const latestColumns: readonly Column<[string, number]>[] = [
  ["SERIES", ([name]) => name],
  ["VALUE", ([, value]) => value],
];
