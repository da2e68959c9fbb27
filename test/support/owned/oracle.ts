/** Who changed what, seen from outside: told of every change by us and by somebody else, it says what may be taken back. */
import { isDeepStrictEqual } from "node:util";
import type { MemoryHost } from "../../../lib/host/memory-host.ts";
import type { Json } from "../../../lib/json.ts";
import { resourceIdentityKey } from "../../../lib/state/definition.ts";
import { backupsOf } from "../../../lib/state/resources/file/prior.ts";
import { resourceTypes } from "../../../lib/state/resources/index.ts";
import type { AppliedResource } from "../../../lib/state/run/applied-resource.ts";
import { assertEqual, assertThat } from "../../../lib/testing/expect.ts";
import { type Thing, things } from "./things.ts";

/** What is known of one thing. */
interface Known {
  /** Whether we changed it, and have not taken that back. "unknown" = a loss of power, or an edit that undid our change. */
  ours: boolean | "unknown";
  /** How it stood right before our first change. */
  before: unknown;
  /** Whether somebody else changed it since. */
  edited: boolean;
  /** How it stood last. */
  last: unknown;
}

/** The judge of a history. A broken promise is an error. */
export class Oracle {
  readonly #host: MemoryHost;
  readonly #known = new Map<Thing, Known>();
  readonly #saved = new Set<string>();
  /** What somebody else changed since the operation began. */
  readonly #editedSince = new Set<Thing>();
  /** What the operation that runs wants. */
  wanted: ReadonlySet<Thing> = new Set();
  /** How often each promise was put to the test. */
  readonly counts = { first: 0, back: 0, kept: 0, unknown: 0 };

  constructor(host: MemoryHost) {
    this.#host = host;
    for (const thing of things) {
      this.#known.set(thing, { ours: false, before: null, edited: false, last: thing.look(host) });
    }
  }

  /** Notes that an operation begins, and what it wants. */
  begin(wanted: readonly Thing[]): void {
    this.wanted = new Set(wanted);
    this.#editedSince.clear();
  }

  /** Notes that a copy was made. */
  saved(sha256: string): void {
    this.#saved.add(sha256);
  }

  /** Looks what was changed by the call that was just made. */
  notice(who: "us" | "somebody else"): void {
    for (const [thing, known] of this.#known) {
      const now = thing.look(this.#host);
      if (isDeepStrictEqual(now, known.last)) continue;
      if (who === "us") this.#changedByUs(thing, known);
      else {
        this.#editedSince.add(thing);
        if (known.ours !== false) known.edited = true;
      }
      known.last = now;
    }
  }

  #changedByUs(thing: Thing, known: Known): void {
    if (known.ours !== false) return;
    assertThat(this.wanted.has(thing), `${thing.name} was changed back, and we had not changed it`);
    this.counts.first += 1;
    Object.assign(known, { ours: true, before: known.last, edited: false });
  }

  /** What the machine lost with its power: how a thing stood, and whose it was, at the last barrier. */
  remember(): () => void {
    const kept = [...this.#known].map(([thing, known]) => [thing, { ...known }] as const);
    return () => {
      for (const [thing, known] of kept) {
        thing.put(this.#host, known.last);
        this.#known.set(thing, { ...known, last: thing.look(this.#host) });
        // An edit that was seen before and went with the power is told from a change of ours by nobody.
        if (this.#editedSince.has(thing)) this.doubt(thing);
      }
    };
  }

  /** What was edited and being changed when the process died can't be told apart. */
  doubtEdited(thing: Thing): void {
    if (this.#editedSince.has(thing)) this.doubt(thing);
  }

  /** What was edited while the power went can't be told from what we changed. */
  doubt(thing: Thing): void {
    const known = this.#known.get(thing);
    if (known) known.ours = "unknown";
  }

  /** Compares what is noted as applied with what happened. */
  judge(applied: readonly AppliedResource[]): void {
    const noted = new Map(
      applied.map((entry) => [resourceIdentityKey(entry.resource, resourceTypes), entry]),
    );
    for (const [thing, known] of this.#known) {
      const entry = noted.get(thing.identity);
      noted.delete(thing.identity);
      const isNoted = entry !== undefined && (entry.prior !== null || entry.changed === true);
      if (known.ours === "unknown") {
        this.counts.unknown += 1;
        if (!isNoted) known.ours = false;
      } else if (known.ours) {
        // Taken back, or put back by somebody else: then it is no matter whether it is noted.
        const isBack = isDeepStrictEqual(known.last, known.before);
        if (!isNoted && (isBack || (known.edited && !this.wanted.has(thing)))) known.ours = false;
        else assertThat(isNoted, `${thing.name} is ours and was forgotten`);
      } else {
        this.counts.kept += 1;
        assertThat(!isNoted, `${thing.name} is noted as ours and is not`);
      }
    }
    assertEqual([...noted.keys()], [], "what nobody can explain");
  }

  /** Whether every copy is there that is needed, and with `pruned`, no other. */
  judgeBackups(applied: readonly AppliedResource[], { pruned }: { pruned: boolean }): void {
    const needed = backupsOf(applied);
    for (const sha256 of needed) {
      assertThat(this.#host.backups.sizeBytes(sha256) !== null, "a copy that is needed is there");
    }
    if (!pruned) return;
    const left = [...this.#saved].filter((sha256) => this.#host.backups.sizeBytes(sha256) !== null);
    assertEqual(
      left.filter((sha256) => !needed.has(sha256)),
      [],
      "copies that nothing needs",
    );
  }

  /** When nothing is applied any more, all that only we changed stands as it stood. */
  judgeEnd(): void {
    for (const [thing, { ours, edited, before, last }] of this.#known) {
      if (ours === true && !edited) assertEqual(last as Json, before as Json, `${thing.name} in the end`);
      if (ours === false || !edited) this.counts.back += 1;
    }
  }
}
