/** Operators whose keys go from one to another: a key is one operator's alone, and so is given up before it is taken. */
import type { PresentThing } from "./fleet-folder.ts";
import type { FolderStep } from "./plan-types.ts";

/** The order of steps in which each key is free when it is taken. */
export interface KeyOrder {
  /** With removals that have to come first; of operators that exchange their keys one comes before the other. */
  steps: FolderStep[];
  /** Those that take a key whose holder keeps it. */
  blocked: { step: FolderStep; holder: PresentThing }[];
}

/**
 * Puts what gives a key up before what takes it.
 *
 * @param removals - Those that are made, too.
 */
export function freeKeysFirst(
  steps: readonly FolderStep[],
  removals: readonly FolderStep[],
  present: readonly PresentThing[],
): KeyOrder {
  const holders = new Map(present.filter(isOperator).map((thing) => [thing.values["public_key"], thing]));
  const freeing = [...steps, ...removals].filter((step) => isOperator(step) && givesKeyUp(step));
  const freedBy = new Map(freeing.map((step) => [step.id, step]));
  const sorted = new Set<FolderStep>();
  const begun = new Set<FolderStep>();
  const blocked: KeyOrder["blocked"] = [];
  const take = (step: FolderStep): void => {
    if (begun.has(step)) return;
    begun.add(step);
    const holder = isOperator(step) && takesKey(step) ? holders.get(step.values["public_key"]) : undefined;
    if (holder && holder.id !== step.id) {
      const first = freedBy.get(holder.id);
      if (first) take(first);
      else blocked.push({ step, holder });
    }
    sorted.add(step);
  };
  for (const step of steps) take(step);
  return { steps: [...sorted], blocked };
}

function isOperator({ kind }: Pick<FolderStep, "kind">): boolean {
  return kind === "operators";
}

function givesKeyUp({ action }: FolderStep): boolean {
  return action === "replace" || action === "remove";
}

function takesKey({ action }: FolderStep): boolean {
  return action === "create" || action === "replace";
}
