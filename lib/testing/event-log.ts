/** Keeps what happened, and lets a test wait for what is to happen: no polling and no sleeping. */
export class EventLog<Event extends { kind: string }> {
  readonly #events: Event[] = [];
  readonly #waiting: { kind: string; resolve: (event: Event) => void }[] = [];
  readonly #taken = new Map<string, number>();

  /** Adds an event and wakes who waits for its kind. */
  add(event: Event): void {
    this.#events.push(event);
    const index = this.#waiting.findIndex(({ kind }) => kind === event.kind);
    if (index < 0) return;
    const [waiter] = this.#waiting.splice(index, 1);
    this.#taken.set(event.kind, (this.#taken.get(event.kind) ?? 0) + 1);
    waiter?.resolve(event);
  }

  /** Resolves with the next event of a kind that was not taken yet, as soon as there is one. */
  next<Kind extends Event["kind"]>(kind: Kind): Promise<Extract<Event, { kind: Kind }>> {
    const taken = this.#taken.get(kind) ?? 0;
    const event = this.of(kind)[taken];
    if (event) {
      this.#taken.set(kind, taken + 1);
      return Promise.resolve(event);
    }
    return new Promise((resolve) => {
      // Only events of this kind are given to this waiter.
      this.#waiting.push({ kind, resolve: (next) => resolve(next as Extract<Event, { kind: Kind }>) });
    });
  }

  /** Every event of a kind so far. */
  of<Kind extends Event["kind"]>(kind: Kind): Extract<Event, { kind: Kind }>[] {
    return this.#events.filter((event): event is Extract<Event, { kind: Kind }> => event.kind === kind);
  }

  /** The kinds of all events so far, in order. */
  get kinds(): Event["kind"][] {
    return this.#events.map(({ kind }) => kind);
  }
}
