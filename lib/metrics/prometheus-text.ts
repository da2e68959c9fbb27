/**
 * Samples of agents in the text format of Prometheus.
 *
 * The format wants all lines of a metric in one group, and samples come by agent: they are gathered by metric first, as numbers beside
 * names that agents share, about 35 bytes a line.
 */
import type { SampleRow } from "../storage/storage.ts";

/** What a sample is of. */
export interface SampledAgent {
  node_id: string;
  name: string;
}

/** The lines of one metric, as columns. */
interface Metric {
  agents: number[];
  labels: string[];
  values: number[];
}

/** A series as Prometheus names it: the metric, and its labels behind those of the agent. */
interface Named {
  metric: string;
  labels: string;
}

/** Characters of a piece of the text. */
const pieceLength = 65_536;

/**
 * The newest samples of a fleet: `fleetwright_cpu_percent{node_id="...",name="web-1",state="user"} 12.5 1893456002000`.
 *
 * Names of metrics keep what both notations have; every text of an agent is in quotes, so that none can end a line. Where two series of an
 * agent have the same name in this notation the first counts: a line that is there twice spoils the text.
 */
export class PrometheusText {
  /** The labels and the time of each agent. */
  readonly #agents: { labels: string; at: number }[] = [];
  readonly #metrics = new Map<string, Metric>();
  /** By the name of the series: agents have most in common. */
  readonly #names = new Map<string, Named>();

  /** Adds the newest sample of one agent. */
  add({ node_id, name }: SampledAgent, { at, values }: SampleRow): void {
    const agent = this.#agents.push({ labels: `node_id=${quoted(node_id)},name=${quoted(name)}`, at }) - 1;
    const seen = new Set<string>();
    for (const [series, value] of Object.entries(values)) {
      const { metric, labels } = this.#named(series);
      if (seen.size === seen.add(`${metric}{${labels}`).size) continue;
      const found = this.#metrics.get(metric) ?? { agents: [], labels: [], values: [] };
      this.#metrics.set(metric, found);
      found.agents.push(agent);
      found.labels.push(labels);
      found.values.push(value);
    }
  }

  /** The text, metric by metric, in pieces. What was told is let go. */
  *pieces(): Generator<string, void> {
    for (const metric of [...this.#metrics.keys()].sort()) {
      const { agents, labels, values } = this.#metrics.get(metric) as Metric;
      this.#metrics.delete(metric);
      let text = `# TYPE ${metric} ${typeOf(metric)}\n`;
      for (const [line, value] of values.entries()) {
        const agent = this.#agents[agents[line] as number];
        text += `${metric}{${agent?.labels}${labels[line]}} ${value} ${agent?.at}\n`;
        if (text.length < pieceLength) continue;
        yield text;
        text = "";
      }
      if (text !== "") yield text;
    }
  }

  #named(series: string): Named {
    let named = this.#names.get(series);
    if (named === undefined) this.#names.set(series, (named = toNamed(series)));
    return named;
  }
}

/** What the owner of a machine adds is taken as it is, and may be a counter. */
function typeOf(metric: string): "untyped" | "gauge" {
  return metric.startsWith("fleetwright_custom_") ? "untyped" : "gauge";
}

function toNamed(series: string): Named {
  const brace = series.indexOf("{");
  const metric = (brace === -1 ? series : series.slice(0, brace)).replaceAll(".", "_");
  return {
    metric: `fleetwright_${metric}`,
    labels: brace === -1 ? "" : toLabels(series.slice(brace + 1, -1)),
  };
}

function toLabels(text: string): string {
  const names = new Set(["node_id", "name"]);
  const labels = text.split(",").map((part) => {
    const [, name = "", value] = /^([A-Za-z_]\w*)=(.*)$/s.exec(part) ?? [];
    // What has no form of a label stays readable under a name of ours; what would hide whose it is gets another one. Names with two underscores
    // first are Prometheus's own: with a second `__name__` it would take nothing of all agents.
    let key = value === undefined ? "label" : name;
    while (names.has(key) || key.startsWith("__")) key = key.startsWith("_") ? `label${key}` : `_${key}`;
    names.add(key);
    return `,${key}=${quoted(value ?? part)}`;
  });
  // Their order means nothing: the same labels in another one are the same series.
  return labels.sort().join("");
}

function quoted(text: string): string {
  return `"${text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n").replaceAll('"', '\\"')}"`;
}
