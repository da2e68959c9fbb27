/** One kind of thing that others may use. */
export type ReferencedKind = "module";

/** Answers "who uses this?", where the users register themselves, so that what is used need not know its users. */
export class References {
  readonly #finders = new Map<ReferencedKind, ((name: string) => Promise<string[]>)[]>();

  /** Registers a user of a kind: given a name, it tells what of its own uses it. */
  register(kind: ReferencedKind, find: (name: string) => Promise<string[]>): void {
    this.#finders.set(kind, [...(this.#finders.get(kind) ?? []), find]);
  }

  /** Names everything that uses one thing. */
  async usersOf(kind: ReferencedKind, name: string): Promise<string[]> {
    const found = await Promise.all((this.#finders.get(kind) ?? []).map((find) => find(name)));
    return found.flat();
  }
}
