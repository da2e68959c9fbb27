/** Samples of agents in the text format of Prometheus. */
import type { SampleRow } from "../storage/storage.ts";

/** What a sample is of. */
export interface SampledAgent {
  node_id: string;
  name: string;
}

/**
 * The lines of one sample: `fleetwright_cpu_percent{node_id="...",name="web-1",state="user"} 12.5 1893456002000`.
 *
 * Names of families keep what both notations have; every text of an agent is in quotes, so that none can end a line.
 */
export function toPrometheusLines({ node_id, name }: SampledAgent, { at, values }: SampleRow): string {
  const agent = `node_id=${quoted(node_id)},name=${quoted(name)}`;
  let text = "";
  for (const [series, value] of Object.entries(values)) {
    const brace = series.indexOf("{");
    const metric = (brace === -1 ? series : series.slice(0, brace)).replaceAll(".", "_");
    const labels = brace === -1 ? "" : toLabels(series.slice(brace + 1, -1));
    text += `fleetwright_${metric}{${agent}${labels}} ${value} ${at}\n`;
  }
  return text;
}

function toLabels(text: string): string {
  let labels = "";
  const names = new Set(["node_id", "name"]);
  for (const part of text.split(",")) {
    const [, name = "", value] = /^([A-Za-z_]\w*)=(.*)$/s.exec(part) ?? [];
    // What has no form of a label stays readable under a name of ours; what would hide whose it is gets another one.
    let key = value === undefined ? "label" : name;
    while (names.has(key)) key = `_${key}`;
    names.add(key);
    labels += `,${key}=${quoted(value ?? part)}`;
  }
  return labels;
}

function quoted(text: string): string {
  return `"${text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n").replaceAll('"', '\\"')}"`;
}
