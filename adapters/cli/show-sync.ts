/** Plans of fleet folders for people and programs. Nothing is shown here of what a call says, which may be secret. */
import type { FieldChange, FolderFault, FolderPlan, FolderStep } from "fleetwright";
import { alignRows, toLine, toLines } from "./text.ts";

const signs = { create: "+", change: "~", replace: "~", remove: "-" } as const;

/** A step as programs get it. */
export interface ShownStep {
  action: FolderStep["action"];
  kind: FolderStep["kind"];
  name: string;
  id: string | null;
  version: number | null;
  changes: readonly FieldChange[];
  /** Absent where it was this folder's before; null where it was nobody's. */
  taken_from?: string | null;
}

/** A step without what its call says. */
export function toShownStep({ values: _values, takenFrom, ...step }: FolderStep): ShownStep {
  return { ...step, ...(takenFrom !== undefined && { taken_from: takenFrom }) };
}

/** A step as a row: its sign, what it is about, and what differs. */
export function describeStep({ action, kind, name, changes, takenFrom }: FolderStep): string[] {
  const from = takenFrom === undefined ? [] : [`taken over from ${takenFrom ?? "nobody"}`];
  const fields = changes.filter(({ field }) => field !== "managed_by" || takenFrom === undefined);
  const said = [action === "replace" ? ["replaced"] : [], from, fields.map(describeChange)].flat().join(", ");
  return [
    `${signs[action]} ${kind.slice(0, -1)}`,
    toLine(name),
    ...(said === "" ? [action] : [toLine(said)]),
  ];
}

/** The whole of a plan. */
export function describePlan(plan: FolderPlan, prune: boolean): string {
  const { steps, removals } = plan;
  const rows = [...steps, ...removals].map(describeStep);
  if (rows.length === 0) return `${toLines(["The server is as the folder says."])}${describeUnmanaged(plan)}`;
  const hint = removals.length > 0 && !prune ? [`An apply removes only with --prune.`] : [];
  return `${toLines([...alignRows(rows), countSteps([...removals, ...steps], { done: false }), ...hint])}${describeUnmanaged(plan)}`;
}

/** What nobody manages, though it is as the folder says. */
export function describeUnmanaged({ unmanaged }: Pick<FolderPlan, "unmanaged">): string {
  if (unmanaged.length === 0) return "";
  return toLines([
    `As the folder says, but managed by no folder: ${unmanaged.length}. \`sync apply --take-over\` has this folder manage them.`,
  ]);
}

/** Counts steps, those that are to be made or those that were: removals first. */
export function countSteps(steps: readonly FolderStep[], { done }: { done: boolean }): string {
  const count = (action: FolderStep["action"]): number =>
    steps.filter((step) => step.action === action).length;
  const counts = [
    [count("remove"), done ? "removed" : "to remove"],
    [count("replace"), done ? "replaced" : "to replace"],
    [count("create"), done ? "created" : "to create"],
    [count("change"), done ? "changed" : "to change"],
  ] as const;
  return counts
    .filter(([number]) => number > 0)
    .map(([number, what]) => `${number} ${what}`)
    .join(", ");
}

/** Every fault on a line of its own, as compilers write it. */
export function describeFaults(faults: readonly FolderFault[]): string {
  const lines = faults.slice(0, mostFaults).map(({ file, line = 1, column = 1, code, path, message }) => {
    const where = path.length === 0 ? "" : ` ${path.join(".")}:`;
    return toLine(`${file}:${line}:${column}: ${code}${where} ${message}`);
  });
  const more = faults.length - lines.length;
  const count = faults.length === 1 ? "a fault" : `${faults.length} faults`;
  return toLines([
    ...lines,
    ...(more > 0 ? [`and ${more} more`] : []),
    `fleetwright: The folder has ${count}. Nothing was changed.`,
  ]);
}

const mostFaults = 500;

function describeChange({ field, before, after }: FieldChange): string {
  if (before === undefined) return field;
  return `${field}: ${JSON.stringify(before)} -> ${JSON.stringify(after)}`;
}
