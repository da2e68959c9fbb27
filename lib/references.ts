/** One kind of thing that others may use. */
export type ReferencedKind = "module" | "secret";

/** Given names, tells which users each has; a name without any may be absent. */
type UserFinder = (names: readonly string[]) => Promise<ReadonlyMap<string, readonly string[]>>;

/** Answers "who uses this?", where the users register themselves, so that what is used need not know its users. */
export class References {
  readonly #finders = new Map<ReferencedKind, UserFinder[]>();

  /** Registers a user of a kind: given names, it tells what of its own uses each, looking at its own once. */
  register(kind: ReferencedKind, find: UserFinder): void {
    this.#finders.set(kind, [...(this.#finders.get(kind) ?? []), find]);
  }

  /** Names everything that uses each of some things; what nobody uses is absent. */
  async usersOf(kind: ReferencedKind, names: readonly string[]): Promise<Map<string, string[]>> {
    const users = new Map<string, string[]>();
    for (const found of await Promise.all((this.#finders.get(kind) ?? []).map((find) => find(names)))) {
      for (const [name, each] of found) users.set(name, [...(users.get(name) ?? []), ...each]);
    }
    return users;
  }
}
