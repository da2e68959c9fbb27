/** Names of series: `family.metric`, or `family.metric{label=value}`. */

/** Most series that an agent has; see also the rules of the orchestrator, `lib/metrics/sample-rules.ts`. */
export const mostSeries = 200;

/** Longest name of a series. */
export const maxNameLength = 200;

/** What would end a label early, begin another, or act on a terminal. */
const unprintable = /[{},=\p{C}\p{Zl}\p{Zp}]/gu;

/** The name of a series with one label, whose value stands for a thing of the machine, such as a path. */
export function labelledName(name: string, label: string, value: string): string {
  const room = maxNameLength - name.length - label.length - "{=}".length;
  return `${name}{${label}=${labelText(value, room)}}`;
}

/** A text as the value of a label. */
export function labelText(value: string, room: number): string {
  const text = value.replace(unprintable, "_");
  // By code points: half a pair would be no character.
  return text.length <= room ? text : [...text].slice(0, Math.max(0, Math.floor(room / 2))).join("");
}
