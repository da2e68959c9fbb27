/** What the journal of an operation that was cut off tells about what it may have changed. */
import { resourceIdentityKey } from "../state/definition.ts";
import type { ResourceTypes } from "../state/resource-type.ts";
import type { ResolvedResource } from "../state/resource.ts";
import type { AppliedResource } from "../state/run/applied-resource.ts";
import type { JournalRecord } from "./journal-record.ts";
import type { ThingNames } from "./thing-names.ts";

/** An operation that was cut off. */
export interface CutOperation {
  operation_id: string;
  /** In the order in which they were written. */
  records: readonly JournalRecord[];
}

/** What became of one thing. */
export interface CutChange {
  /** What it is about, across types. */
  identity: string;
  /**
   * "changed": it was changed to its end. "begun": only the machine can tell. "untouched": it failed, and nothing came of it.
   * "meant": it was captured, and no change of it was begun as far as the journal tells.
   */
  state: "changed" | "begun" | "untouched" | "meant";
  removal: boolean;
  /** What was captured for it last; null where an earlier operation did that. */
  captured: AppliedResource | null;
  /** What is wanted of a thing that an earlier operation captured; null = as that wanted it. */
  resource: ResolvedResource | null;
}

/** What an operation that was cut off meant to change, in the order in which it was captured or begun. */
export function changesOf({ records }: CutOperation, names: ThingNames): CutChange[] {
  const changes = new Map<string, CutChange>();
  const changeOf = (identity: string): CutChange => {
    const known = changes.get(identity);
    if (known) return known;
    const change: CutChange = { identity, state: "meant", removal: false, captured: null, resource: null };
    changes.set(identity, change);
    return change;
  };
  for (const record of records) {
    if (record.record === "captured") {
      for (const entry of record.resources) changeOf(names.of(entry.resource)).captured = entry;
    } else if (record.record === "begun") {
      const change = changeOf(record.identity);
      Object.assign(change, { state: "begun", removal: record.removal, resource: record.resource ?? null });
    } else if (record.record === "untouched") {
      changeOf(record.identity).state = "untouched";
    } else if (record.record === "result" && record.result.outcome === "changed") {
      const change = changes.get(names.ofResult(record.result));
      if (change?.state === "begun") change.state = "changed";
    }
  }
  return [...changes.values()];
}

/** What the things of an operation were about while it ran, by how its resources spell them. */
export function identitiesOf({ records }: CutOperation, types: ResourceTypes): Map<string, string> {
  const identities = new Map<string, string>();
  for (const record of records) {
    if (record.record === "begun") identities.set(record.spelled ?? record.identity, record.identity);
    if (record.record !== "captured") continue;
    for (const [index, { resource }] of record.resources.entries()) {
      const identity = record.identities?.[index];
      if (identity !== undefined) identities.set(resourceIdentityKey(resource, types), identity);
    }
  }
  return identities;
}

/** The resources that the journal of an operation names. */
export function resourcesOf({ records }: CutOperation): ResolvedResource[] {
  return records.flatMap((record) => {
    if (record.record === "captured") return record.resources.map(({ resource }) => resource);
    return record.record === "begun" && record.resource ? [record.resource] : [];
  });
}

/** The boot of the machine in which an operation ran; null where that is not known. */
export function bootOf({ records }: CutOperation): string | null {
  for (const record of records) if (record.record === "started") return record.boot ?? null;
  return null;
}
