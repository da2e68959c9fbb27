/**
 * What a plan knows of the machine as it will be.
 *
 * Each resource is checked on the foreseen machine, which is the machine with all that the resources before it would have
 * changed. Then its own changes are made there, by the same `apply` unless the type has programs do them (`foresee`). So a
 * plan looks at what an apply will find, and fails where that would fail.
 *
 * Some things can't be foreseen: what a program will bring that nobody described (a package, a script), what is in an archive
 * or a clone, what a program would say that asks about what is not there yet, and what nobody can be asked without a change.
 * Where a check or an apply rests on such a thing, the plan says `unknown`, as much as its type can tell of it, and which
 * resource must be done before it can be checked.
 */
import { isOrchestratorError } from "../../errors.ts";
import type { Host } from "../../host/host.ts";
import { resourceKey } from "../resource.ts";
import type { Change } from "../result.ts";
import { requireCapturable } from "../run/capture.ts";
import { withDeadline } from "../run/deadline.ts";
import { look, type Seen, timeoutOf } from "../run/examine.ts";
import { nameMissing } from "../run/missing-part.ts";
import { pathsOf, type StateItem } from "../run/state-item.ts";
import { actionOf, failureParts, type ResultParts } from "../run/state-result.ts";
import type { StateRun } from "../run/state-run.ts";
import { type Firing, watchedIds } from "../triggers.ts";
import { Bringers, toId } from "./bringers.ts";
import { ForeseenHost } from "./foreseen-host.ts";

/** The foreseen machine of one plan. */
export class Foresight {
  readonly host: ForeseenHost;
  readonly #bringers = new Bringers();
  /** Keys of what is unknown, each with the key of what must be done first; null = that would not help. */
  readonly #unknown = new Map<string, string | null>();
  readonly #capturing: Host;

  /** @param host - The machine as it is. */
  constructor(host: Host) {
    this.host = new ForeseenHost(host);
    this.#capturing = this.host.withoutCopies();
  }

  /** What an apply would do to an item when its turn comes, and foresees that it was done. Never rejects. */
  foresee(item: StateItem, run: StateRun, firing: Firing | null): ResultParts | Promise<ResultParts> {
    // What was looked at before anything was foreseen is what stands there now.
    if (!this.host.isChanged && this.#bringers.isEmpty)
      return this.#follow(item, { run, firing, seen: item });
    this.host.forgetQuestions();
    const seen = look(item, run, this.host);
    if (seen instanceof Promise)
      return seen.then((found) => this.#follow(item, { run, firing, seen: found }));
    return this.#follow(item, { run, firing, seen });
  }

  /** Whether an item watches something of which nobody can tell whether it will change. */
  mayFire(item: StateItem): boolean {
    return this.#unknownCause(item) !== null;
  }

  /** What an item waits for that says the same as one before it. */
  waitAsSame(item: StateItem): Pick<ResultParts, "until"> {
    const until = this.#unknown.get(item.sameAs?.key ?? "");
    if (until === undefined) return {};
    this.#unknown.set(item.key, until);
    return until === null ? {} : { until: toId(until, item.resource.module) };
  }

  #follow(
    item: StateItem,
    { run, firing, seen }: { run: StateRun; firing: Firing | null; seen: Seen },
  ): ResultParts | Promise<ResultParts> {
    if (!item.target) return { outcome: "unchanged" };
    const { type, spec } = item.target;
    if (!seen.changes && run.stop.aborted) return { outcome: "skipped", skipped_because: "cancelled" };
    const until = seen.changes ? this.#restedOn(item, seen.changes) : this.#wantedFor(item, seen.error);
    if (!seen.changes && until === null) return this.#failed(item, [], { firing, error: seen.error, run });
    const changes = seen.changes ?? type.planning?.assumedChanges?.(spec) ?? [];
    // What fires acts whatever its check finds, if only it can look.
    const isKnown = seen.changes !== null && (firing !== null || until === null);
    if (isKnown && changes.length === 0 && !firing) return { outcome: "unchanged" };
    const conclude = (error: unknown): ResultParts => {
      if (error !== null && run.stop.aborted) return { outcome: "skipped", skipped_because: "cancelled" };
      const wanted = error === null ? null : this.#wantedFor(item, error);
      const untold = wanted === null ? this.host.untold : null;
      const isFailed = error !== null && wanted === null && untold === null;
      this.#note(item, { isFailed, wanted });
      if (isFailed) return this.#failed(item, changes, { firing, error, run });
      if (isKnown && wanted === null && untold === null) return wouldChange(item, changes, firing);
      return this.#cannotKnow(item, changes, { firing, until: wanted ?? (isKnown ? null : until), untold });
    };
    const making = changes.length > 0 || firing ? this.#make(item, changes, run) : this.#forget();
    return making instanceof Promise ? making.then(conclude) : conclude(making);
  }

  #forget(): null {
    this.host.forgetQuestions();
    return null;
  }

  /** Makes changes on the foreseen machine; the error where that is refused, as it would be on the real one. */
  #make(item: StateItem, changes: readonly Change[], run: StateRun): unknown {
    if (!item.target) return null;
    const { type, spec } = item.target;
    const limits = { clock: run.clock, timeoutMs: timeoutOf(item), signal: run.stop };
    this.host.forgetQuestions();
    try {
      const make = (signal: AbortSignal): void | Promise<void> =>
        type.planning?.foresee
          ? type.planning.foresee(spec, changes, this.host, signal)
          : type.apply(spec, changes, this.host, signal);
      const making = withDeadline(limits, (signal) => {
        const capturing = requireCapturable(item, run, this.#capturing);
        return capturing instanceof Promise ? capturing.then(() => make(signal)) : make(signal);
      });
      return making instanceof Promise
        ? making.then(
            () => null,
            (error: unknown) => error,
          )
        : null;
    } catch (error) {
      return error;
    }
  }

  #failed(
    item: StateItem,
    changes: readonly Change[],
    { firing, error, run }: { firing: Firing | null; error: unknown; run: StateRun },
  ): ResultParts {
    const action = firing ? firing.trigger : changes.length === 0 ? "none" : actionOf(item, changes);
    const { resource } = item;
    const parts = failureParts(resource, nameMissing(error, this.host, { resource, run }));
    return { ...parts, action, changes: [...changes] };
  }

  /** Notes what was done, or begun, for those that come after it. */
  #note(item: StateItem, { isFailed, wanted }: { isFailed: boolean; wanted: string | null }): void {
    const { resource, target, removal } = item;
    if (!target) return;
    const { type, spec } = target;
    const own = isFailed ? null : (type.planning?.unknownAfterApply?.(spec) ?? null);
    // What could not even be foreseen may bring anything.
    const below = own ?? (wanted === null ? null : "/");
    const declared = pathsOf(target).map((path) => this.host.realPath(path));
    // A type need not declare the tables of the machine that it edits.
    const paths = [...declared, ...this.host.takeWritten()];
    const real = below === null || below === "/" ? below : this.host.realPath(below);
    const until = own === null ? wanted : null;
    this.#bringers.add({ resource, below: real, paths, isRemoval: removal || isToBeAbsent(spec), until });
  }

  /** The key of the earlier resource for want of which something failed; null where that is not why. */
  #wantedFor({ resource }: StateItem, error: unknown): string | null {
    const { host } = this;
    const mayWant = ["COMMAND_FAILED", "HOST_ERROR", "DOWNLOAD_FAILED"] as const;
    if (!isOrchestratorError(error) || !mayWant.some((code) => error.code === code)) return null;
    return this.#bringers.wantedFor(resource, error, {
      ...host.askedInVain(),
      places: host.restingPlaces,
    });
  }

  /** The key of the earlier resource on which rests what a check found, or that would change what fires it; null = of none. */
  #restedOn(item: StateItem, changes: readonly Change[]): string | null {
    const { host } = this;
    const { resource, target, removal } = item;
    if (!target) return null;
    const resting = {
      hasLookedBelow: (folder: string) => host.hasLookedBelow(folder),
      isAbsent: changes.length === 0 && isToBeAbsent(target.spec),
      places: (target.type.planning?.restsOn?.(target.spec, changes) ?? []).map((path) =>
        host.realPath(path),
      ),
      ...host.askedInVain(),
    };
    return this.#bringers.restedOn(resource, resting, removal) ?? this.#unknownCause(item);
  }

  /** The key of what must be done before it is known whether something fires an item. */
  #unknownCause({ resource }: StateItem): string | null {
    if (this.#unknown.size === 0) return null;
    for (const resource_id of watchedIds(resource)) {
      const key = resourceKey({ module: resource.module, resource_id });
      const until = this.#unknown.get(key);
      if (until !== undefined) return until ?? key;
    }
    return null;
  }

  #cannotKnow(
    item: StateItem,
    changes: readonly Change[],
    { firing, until, untold }: { firing: Firing | null; until: string | null; untold: string | null },
  ): ResultParts {
    const { module, sensitive } = item.resource;
    this.#unknown.set(item.key, until);
    const isNothing = changes.length === 0 && !item.removal;
    const action = firing ? firing.trigger : isNothing ? "none" : actionOf(item, changes);
    const parts: ResultParts = { outcome: "unknown", action, changes: [...changes] };
    if (until === null)
      return { ...parts, message: (sensitive ? null : untold) ?? "It can't be known before it is done." };
    const id = toId(until, module);
    return { ...parts, until: id, message: `not checked yet: needs ${id} first` };
  }
}

function isToBeAbsent(spec: unknown): boolean {
  const { ensure } = spec as { ensure?: unknown };
  return ensure === "absent" || ensure === "purged";
}

function wouldChange(item: StateItem, changes: readonly Change[], firing: Firing | null): ResultParts {
  const action = firing ? firing.trigger : actionOf(item, changes);
  return { outcome: "would_change", action, changes: [...changes] };
}
