/**
 * What calls named for an agent is wanted on its machine, and so follows when another agent takes its place.
 *
 *   there: what was named for the place is wanted on the new one, beside what that one was named itself, which counts more
 *   back:  what was named for the place since, or before, goes back; the other keeps what it was named itself
 *
 * What was applied stays with the machine that it was applied on.
 */
import { canonicalJson } from "../internal/canonical-json.ts";
import { toJsonObject } from "../json.ts";
import type { NamedModules } from "../module-format/module-reference.ts";
import type { Storage, Write } from "../storage/storage.ts";
import { putAgentState, readAgentState } from "./agent-states.ts";

/** Prepares the writes that have one agent take the place of another. */
export async function handOverNamed(
  storage: Storage,
  { oldId, newId }: { oldId: string; newId: string },
): Promise<Write[]> {
  const [from, to] = await Promise.all([readAgentState(storage, oldId), readAgentState(storage, newId)]);
  const { named = {}, named_over: over, ...kept } = from?.value ?? { node_id: oldId };
  const { named: before = {}, named_over: overBefore, ...known } = to?.value ?? { node_id: newId };
  const isBack = over?.from === newId;
  const { own, place } = isBack ? apart(named, over) : { own: {}, place: named };
  // Who is replaced itself may be put back later, and after that the one whose place it took.
  const left = { ...kept, ...namedPart(own), ...(!isBack && over && { named_over: over }) };
  const overNow = isBack ? overBefore : { from: oldId, own: before, place };
  const taken = { ...known, ...namedPart({ ...place, ...before }), ...(overNow && { named_over: overNow }) };
  return [putAgentState(left, from), putAgentState(taken, to)];
}

/** Parts what is named by now in what belongs to the place and what the agent was named itself before it took that. */
function apart(
  named: NamedModules,
  { own, place }: { own: NamedModules; place: NamedModules },
): { own: NamedModules; place: NamedModules } {
  const ofPlace = Object.entries(named).flatMap(([module, how]) => {
    const isOwn =
      Object.hasOwn(own, module) &&
      canonicalJson(toJsonObject(how)) === canonicalJson(toJsonObject(own[module]!));
    if (!isOwn) return [[module, how] as const];
    // It stood before what was named for the place.
    return Object.hasOwn(place, module) ? [[module, place[module]!] as const] : [];
  });
  const ofItself = Object.entries(own).filter(([module]) => Object.hasOwn(named, module));
  return { own: Object.fromEntries(ofItself), place: Object.fromEntries(ofPlace) };
}

function namedPart(named: NamedModules): { named?: NamedModules } {
  return Object.keys(named).length === 0 ? {} : { named };
}
