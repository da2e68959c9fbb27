/** What is wrong between the resources of one module: ids and things that are there twice, unknown ids, circles. */
import type { Issue } from "../errors.ts";
import type { Json, JsonObject } from "../json.ts";
import {
  addByCondition,
  type ByCondition,
  conflictBudget,
  fightAdvice,
  findBuried,
  firstMeeting,
  textClaims,
} from "../state/conflicts.ts";
import { resourceIdentityKey } from "../state/definition.ts";
import { edgeProperties, type GraphNode, orderResources } from "../state/graph.ts";
import type { ResourceTypes } from "../state/resource-type.ts";
import type { ResolvedResource } from "../state/resource.ts";
import { type Fight, findFights, sharedTexts } from "../state/text-edits.ts";
import { meetings } from "./module-resources.ts";

type EdgeProperty = (typeof edgeProperties)[number];

/** A resource of a module, with as much of it as can be read whatever else is wrong with it. */
export interface DeclaredResource {
  /** Its place among the resources of the module. */
  at: number;
  definition: JsonObject;
  /** Null where a fault keeps it from being known. */
  id: string | null;
  /** What it is about; null where a fault keeps it from being known. */
  thing: { type: string; identity: string } | null;
  /** All of it; null where a template decides about a part of it, or a fault keeps it from being known. */
  resource: ResolvedResource | null;
}

/** A fault; its path begins with the place of its resource. */
export interface RelationFault {
  path: Issue["path"];
  /** What is wrong; a function where it names the line of another resource. */
  message: string | ((lineOf: (at: number) => number) => string);
}

/** Finds every fault between resources, also of those that have faults of their own. */
export function findRelationFaults(
  declared: readonly DeclaredResource[],
  types: ResourceTypes,
): RelationFault[] {
  const duplicates = findDuplicates(declared, types);
  return [
    ...duplicates,
    ...findTextFaults(declared, types),
    ...findBuriedFaults(declared, types),
    ...findOrderFaults(declared),
  ];
}

/** Resources in a folder that another has gone. */
function findBuriedFaults(declared: readonly DeclaredResource[], types: ResourceTypes): RelationFault[] {
  const known = new Map(declared.flatMap((one) => (one.resource ? [[one.resource, one] as const] : [])));
  const conditionOf = (resource: ResolvedResource): unknown => known.get(resource)!.definition["when"];
  return findBuried([...known.keys()], types, { conditionOf }).map(({ clearing, below, folder }) => {
    const [first, second] = [known.get(clearing)!, known.get(below)!];
    const message = (lineOf: (at: number) => number): string =>
      `This is in ${folder}, which the resource on line ${lineOf(first.at)} has gone.`;
    return { path: [second.at], message };
  });
}

function findDuplicates(declared: readonly DeclaredResource[], types: ResourceTypes): RelationFault[] {
  const faults: RelationFault[] = [];
  const ids = new Map<string, number>();
  const things = new Map<string, ByCondition<DeclaredResource>>();
  for (const resource of declared) {
    const { at, id, thing } = resource;
    const condition = resource.definition["when"];
    const key = thing && resourceIdentityKey(thing, types);
    const sameThing = key === null ? undefined : firstMeeting(things.get(key), condition);
    const sameId = id === null ? undefined : ids.get(id);
    if (thing && sameThing) {
      const name = `The ${thing.type} ${thing.identity}`;
      faults.push({
        path: [at],
        message: (lineOf) => `${name} is declared on line ${lineOf(sameThing.at)} too.`,
      });
    } else if (sameId !== undefined) {
      faults.push({
        path: [at, "id"],
        message: (lineOf) => `"${id}" is the id of the resource on line ${lineOf(sameId)} too.`,
      });
    }
    if (key !== null) addByCondition(things, key, { value: resource, condition });
    if (id !== null && sameId === undefined) ids.set(id, at);
  }
  return faults;
}

/** Resources that undo each other's changes of a text, such as a file and a line of it. */
function findTextFaults(declared: readonly DeclaredResource[], types: ResourceTypes): RelationFault[] {
  const claims = declared.flatMap((one) => {
    if (!one.resource) return [];
    return textClaims([one.resource], types).map((claim) => ({ ...claim, resource: one }));
  });
  const budget = conflictBudget();
  const when = ({ resource }: { resource: DeclaredResource }): string | null => {
    const condition = resource.definition["when"];
    return typeof condition === "string" ? condition : null;
  };
  const found = new Map<number, Fight<DeclaredResource>>();
  for (const sharers of sharedTexts(claims).values())
    for (const meeting of meetings(sharers, when))
      for (const fight of findFights(meeting, budget)) found.set(fight.second.at, fight);
  return [...found].map(([at, { first, text, isWhole }]) => ({
    path: [at],
    message: (lineOf) =>
      `This and the resource on line ${lineOf(first.at)} undo each other's changes of ${text}. ${fightAdvice(isWhole)}`,
  }));
}

function findOrderFaults(declared: readonly DeclaredResource[]): RelationFault[] {
  const taken = new Set<string>();
  // A resource has an id that nobody knows yet: another may mean it.
  const unknownIds = declared.some(({ id }) => id === null);
  const references = declared.map(({ definition }) => ({
    requires: textsOf(definition["requires"]),
    run_on: textsOf(definition["run_on"]),
    reload_on: textsOf(definition["reload_on"]),
    restart_on: textsOf(definition["restart_on"]),
  }));
  const nodes = declared.map(({ at, id }, index): GraphNode => {
    const isFirst = id !== null && !taken.has(id);
    if (isFirst) taken.add(id);
    const names = (property: EdgeProperty): string[] => references[index]![property].map(({ text }) => text);
    return {
      // An id that is no id, because ids hold no control characters: each node needs one of its own.
      id: isFirst ? id : `\u0000${at}`,
      requires: names("requires"),
      run_on: names("run_on"),
      reload_on: names("reload_on"),
      restart_on: names("restart_on"),
    };
  });
  const ordering = orderResources(nodes);
  if (ordering.ok) return [];
  return ordering.faults
    .filter(({ path }) => !(unknownIds && path.length > 1))
    .map(({ path: [index, property, position], message }) => {
      const { at } = declared[index as number]!;
      const edge = edgeProperties.find((name) => name === property);
      if (!edge) return { path: [at], message };
      const place = references[index as number]![edge][position as number]!.at;
      return { path: [at, edge, place], message };
    });
}

/** The texts of a list with their places in it; what else stands there is a fault that is told elsewhere. */
function textsOf(list: Json | undefined): { text: string; at: number }[] {
  if (!Array.isArray(list)) return [];
  return list.flatMap((text, at) => (typeof text === "string" ? [{ text, at }] : []));
}
