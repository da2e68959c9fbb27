/** What is applied to a machine in all: an apply of some modules takes the place of their part, and leaves the rest. */
import { BoundedCache } from "../internal/bounded-cache.ts";
import { canonicalJson } from "../internal/canonical-json.ts";
import type { Json } from "../json.ts";
import type { ResolvedResource } from "../state/resource.ts";
import type { OperationDocument } from "./documents.ts";
import type { Snapshots } from "./snapshots.ts";

/** How many are remembered: agents of one assignment come from the same to the same. */
const keptInMemory = 1000;

export class Baselines {
  readonly #snapshots: Snapshots;
  readonly #known = new BoundedCache<string>({ entries: keptInMemory });

  constructor(snapshots: Snapshots) {
    this.#snapshots = snapshots;
  }

  /** The snapshot of all that is applied after an apply that succeeded, to be referred to within the hour. */
  async after(
    before: string | undefined,
    { snapshot, scope }: Pick<OperationDocument, "snapshot" | "scope">,
  ): Promise<string> {
    if (scope === undefined || before === undefined) return snapshot;
    const key = JSON.stringify([before, snapshot, scope.toSorted()]);
    const known = this.#known.get(key);
    if (known !== undefined) {
      await this.#snapshots.save(await this.#snapshots.load(known));
      return known;
    }
    const old = await this.#snapshots.loadIfWhole(before);
    // Without what was applied before, what was applied now is all that is known.
    if (!old) return snapshot;
    const own = await this.#snapshots.load(snapshot);
    const parts = byModule(old);
    // In their old places, so that the same part put back makes the same whole.
    for (const name of scope) if (parts.has(name)) parts.set(name, []);
    for (const [name, resources] of byModule(own)) parts.set(name, resources);
    const after = await this.#snapshots.save([...inOrder(parts).values()].flat());
    this.#known.set(key, after);
    return after;
  }

  /** Whether an apply was to bring exactly what had been applied before, so that no end of it leaves two states to choose from. */
  async isRepetition(
    before: string | undefined,
    { snapshot, scope, repeats_snapshot }: Pick<OperationDocument, "snapshot" | "scope" | "repeats_snapshot">,
  ): Promise<boolean> {
    if (before === undefined) return false;
    if (repeats_snapshot !== undefined) return repeats_snapshot === before;
    if (snapshot === before) return true;
    if (scope === undefined) return false;
    const old = await this.#snapshots.loadIfWhole(before);
    if (!old) return false;
    const own = byModule(await this.#snapshots.load(snapshot));
    const parts = byModule(old.filter(({ module }) => scope.includes(module)));
    const text = (resources: readonly ResolvedResource[] = []): string =>
      canonicalJson(resources as unknown as Json);
    return [...new Set([...own.keys(), ...parts.keys()])].every(
      (name) => text(own.get(name)) === text(parts.get(name)),
    );
  }

  /** The part of a whole that some modules brought, and the snapshot that names it. */
  async part(
    whole: string,
    modules: readonly string[],
  ): Promise<{ snapshot: string; resources: readonly ResolvedResource[] }> {
    const key = JSON.stringify([whole, modules.toSorted()]);
    const known = this.#known.get(key);
    const all = known ? [] : await this.#snapshots.load(whole);
    const own = known
      ? await this.#snapshots.load(known)
      : all.filter(({ module }) => modules.includes(module));
    const snapshot = await this.#snapshots.save(own);
    this.#known.set(key, snapshot);
    return { snapshot, resources: own };
  }
}

/** Modules behind those that they require, and else in their places. */
function inOrder(parts: ReadonlyMap<string, ResolvedResource[]>): Map<string, ResolvedResource[]> {
  const ordered = new Map<string, ResolvedResource[]>();
  const place = (name: string, above: ReadonlySet<string>): void => {
    const resources = parts.get(name);
    // Of modules in revisions from different times each may require the other.
    if (!resources || ordered.has(name) || above.has(name)) return;
    const within = new Set([...above, name]);
    for (const required of resources[0]?.requires_modules ?? []) place(required, within);
    ordered.set(name, resources);
  };
  for (const name of parts.keys()) place(name, new Set());
  return ordered;
}

function byModule(resources: readonly ResolvedResource[]): Map<string, ResolvedResource[]> {
  const parts = new Map<string, ResolvedResource[]>();
  for (const resource of resources) {
    const own = parts.get(resource.module);
    if (own) own.push(resource);
    else parts.set(resource.module, [resource]);
  }
  return parts;
}
