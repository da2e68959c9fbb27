/** Which thing of a server is the one that a folder means. */
import type { Json } from "../json.ts";
import type { DeclaredThing, FolderKind, PresentThing } from "./fleet-folder.ts";
import { kindsOfThings } from "./kinds.ts";

/** What a server has, by kind and by what things are found by. */
export class PresentThings {
  /** By kind and name in lower case. */
  readonly #byName = new Map<string, PresentThing[]>();
  /** By kind, label and name in the folder. */
  readonly #byOwner = new Map<string, PresentThing>();
  /** By kind and id. */
  readonly #byId = new Map<string, PresentThing>();
  /** Operators by their keys. */
  readonly #byKey = new Map<Json | undefined, PresentThing>();

  constructor(things: readonly PresentThing[]) {
    for (const thing of things) {
      const { kind, id, managedBy } = thing;
      const key = nameKey(kind, thing.name);
      const called = this.#byName.get(key);
      if (called) called.push(thing);
      else this.#byName.set(key, [thing]);
      this.#byId.set(`${kind}/${id}`, thing);
      if (kind === "operators") this.#byKey.set(thing.values["public_key"], thing);
      if (managedBy) this.#byOwner.set(ownerKey(kind, managedBy), thing);
    }
  }

  /**
   * What is called by its own name is found by it. All else is found by the name that this folder gave it, then by the id that the
   * folder says, then, where exactly one that nobody manages is called so, by what people call it.
   */
  find(thing: DeclaredThing, label: string): PresentThing | null {
    const { kind, name, id } = thing;
    const title = kind === "modules" ? null : kindsOfThings[kind].title;
    if (title === null) return this.#byName.get(nameKey(kind, name))?.[0] ?? null;
    const known =
      this.#byOwner.get(ownerKey(kind, { label, name })) ??
      (id === undefined ? undefined : this.#byId.get(`${kind}/${id}`));
    if (known) return known;
    const called = this.#byName.get(nameKey(kind, String(thing.values[title])))?.filter(isFree) ?? [];
    return called.length === 1 ? called[0]! : null;
  }

  /** The operator who has a key, in lower-case hex. */
  holderOf(key: Json | undefined): PresentThing | null {
    return this.#byKey.get(key) ?? null;
  }
}

function isFree({ managedBy, hasEnded }: PresentThing): boolean {
  return managedBy === null && !hasEnded;
}

function nameKey(kind: FolderKind, name: string): string {
  return `${kind}/${name.toLowerCase()}`;
}

function ownerKey(kind: FolderKind, { label, name }: { label: string; name: string }): string {
  return `${kind}/${label}/${name}`;
}
