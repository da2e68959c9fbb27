/**
 * How the newest apply of each agent ended and what the newest drift check found, so that lists and counts tell it without reading the
 * operations of each. Whoever ends an apply or a check says what to write.
 */
import type { Context } from "../context.ts";
import { toJsonObject } from "../json.ts";
import { eachDocument, eachPage } from "../storage/each-document.ts";
import type { ListQuery, Write } from "../storage/storage.ts";
import type { FindingsDocument } from "./documents.ts";
import type { AgentRegistry } from "./registry.ts";
import type { AppliedFilter, AppliedStatus, DriftFilter } from "./schemas.ts";

type Known = Readonly<FindingsDocument>;
/** What is known of an agent, without what follows from it. */
export type KnownFindings = Omit<FindingsDocument, "node_id" | "apply_failed" | "check_failed">;

const collection = "agent_findings";

/** What a list of agents may ask for of one kind of finding; null = any. */
export type Finding =
  { kind: "last_apply"; status: AppliedFilter } | { kind: "drift"; status: DriftFilter | null };

/** How many approved agents have each finding; those that have none are not counted. */
export interface FindingCounts {
  last_apply: Partial<Record<AppliedStatus, number>>;
  drift: Partial<Record<DriftFilter, number>>;
  /** Of how many the newest apply left the machine otherwise than was asked for. */
  unsuccessful: number;
}

export class Findings {
  readonly #context: Context;
  readonly #registry: AgentRegistry;
  readonly #known = new Map<string, Known>();
  /** What each agent is counted as. */
  readonly #counted = new Map<string, Known>();
  readonly #counts = new Map<string, number>();

  constructor(context: Context, registry: AgentRegistry) {
    this.#context = context;
    this.#registry = registry;
    context.feed.follow<FindingsDocument>(collection, ({ key, document }) => {
      if (document) this.#known.set(key, document.value);
      else this.#known.delete(key);
      this.#count(key);
    });
    registry.onStatus(({ nodeId }) => this.#count(nodeId));
  }

  /** Reads what is known of every agent once, at the start, when the registry knows them. */
  async load(): Promise<void> {
    for await (const { key, value } of eachDocument<FindingsDocument>(this.#context.storage, collection)) {
      // Something ended while its agent was removed.
      if (!this.#registry.index.get(key)) continue;
      this.#known.set(key, value);
      this.#count(key);
    }
  }

  /** What is known of an agent: the same object for as long as nothing in it changes; null where nothing is. */
  of(nodeId: string): Known | null {
    return this.#known.get(nodeId) ?? null;
  }

  /** How many approved agents have each finding. Costs the same however many agents there are. */
  counts(): FindingCounts {
    const counts: FindingCounts = { last_apply: {}, drift: {}, unsuccessful: 0 };
    for (const [name, count] of this.#counts) {
      const [kind, status] = name.split(":") as ["last_apply" | "drift", AppliedStatus & DriftFilter];
      counts[kind][status] = count;
      if (kind === "last_apply" && isFailure(status)) counts.unsuccessful += count;
    }
    return counts;
  }

  /** What to write in the step that changes what is known of an agent; nothing where it stays. */
  async change(nodeId: string, change: (before: KnownFindings) => KnownFindings | null): Promise<Write[]> {
    const stored = await this.#context.storage.get<FindingsDocument>(collection, nodeId);
    const {
      node_id: _1,
      apply_failed: _2,
      check_failed: _3,
      ...before
    } = stored?.value ?? { node_id: nodeId };
    const after = change(before);
    if (after === null) return [];
    const value = toJsonObject({
      ...after,
      node_id: nodeId,
      ...(after.last_apply && isFailure(after.last_apply.status) && { apply_failed: true }),
      ...(after.failed_drift_check && { check_failed: true }),
    });
    return [{ kind: "put", collection, key: nodeId, value, expected: stored?.revision ?? 0 }];
  }

  /** What to delete with an agent. */
  forget(nodeId: string): Write[] {
    return [{ kind: "delete", collection, key: nodeId }];
  }

  /** The agents with a finding, after a node_id, page by page. */
  async *pages(
    finding: Finding,
    { after, limit }: { after: string; limit: number },
  ): AsyncGenerator<string[]> {
    const query = { ...narrowest(finding), limit, from: `${after}\u0000` };
    for await (const page of eachPage<FindingsDocument>(this.#context.storage, collection, query))
      yield page.flatMap(({ key, value }) => (passes(value, finding) ? key : []));
  }

  /** Those of some agents that have a finding. */
  async having(nodeIds: readonly string[], finding: Finding): Promise<ReadonlySet<string>> {
    const found = await this.#context.storage.getMany<FindingsDocument>(collection, nodeIds);
    return new Set(found.flatMap((each) => (each && passes(each.value, finding) ? each.key : [])));
  }

  #count(nodeId: string): void {
    const before = this.#counted.get(nodeId);
    const after = this.#registry.isApproved(nodeId) ? this.#known.get(nodeId) : undefined;
    if (before === after) return;
    if (before) this.#add(before, -1);
    if (after) {
      this.#add(after, 1);
      this.#counted.set(nodeId, after);
    } else this.#counted.delete(nodeId);
  }

  #add({ last_apply, drift, check_failed }: Known, difference: number): void {
    const names = [
      ...(last_apply ? [`last_apply:${last_apply.status}`] : []),
      ...(drift ? [`drift:${drift.status}`] : []),
      ...(check_failed ? ["drift:failed"] : []),
    ];
    for (const name of names) {
      const count = (this.#counts.get(name) ?? 0) + difference;
      if (count > 0) this.#counts.set(name, count);
      else this.#counts.delete(name);
    }
  }
}

/** The index that leaves the fewest to look at. */
function narrowest({ kind, status }: Finding): Pick<ListQuery, "index" | "equals"> {
  if (status === null) return {};
  if (status === "unsuccessful") return { index: "by_failure", equals: [true] };
  if (kind === "last_apply") return { index: "by_last_apply", equals: [status] };
  if (status === "failed") return { index: "by_failed_check", equals: [true] };
  return { index: "by_drift", equals: [status] };
}

function passes(known: Known, { kind, status }: Finding): boolean {
  if (status === "unsuccessful") return known.apply_failed === true;
  if (kind === "last_apply") return known.last_apply?.status === status;
  if (status === "failed") return known.check_failed === true;
  if (status === null) return known.drift !== undefined || known.check_failed === true;
  return known.drift?.status === status;
}

/** Whether an apply that began left a machine otherwise than was asked for; of one that is unknown nobody can say. */
function isFailure(status: AppliedStatus): boolean {
  return status !== "succeeded" && status !== "unknown";
}
