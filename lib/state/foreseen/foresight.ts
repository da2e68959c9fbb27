/**
 * What a plan knows of the machine as it will be.
 *
 * Each resource is checked on the foreseen machine, which is the machine with all that the resources before it would have
 * changed. Then its own changes are made there, by the same `apply` unless the type has programs do them (`foresee`). So a
 * plan looks at what an apply will find, and fails where that would fail.
 *
 * Two things can't be foreseen: what a program will bring that nobody described (a package, a script), and what a program
 * would say that asks about what is not there yet. Where a check or an apply fails for want of such a thing, the plan says
 * that the resource would be changed, as well as its type can tell how, and which resource must be done before it can be
 * checked.
 */
import { isOrchestratorError, type OrchestratorError } from "../../errors.ts";
import type { Host } from "../../host/host.ts";
import { type ResolvedResource, resourceKey } from "../resource.ts";
import type { Change } from "../result.ts";
import { requireCapturable } from "../run/capture.ts";
import { withDeadline } from "../run/deadline.ts";
import { look, type Seen, timeoutOf } from "../run/examine.ts";
import { nameMissing } from "../run/missing-part.ts";
import type { StateItem } from "../run/state-item.ts";
import { actionOf, failureParts, type ResultParts } from "../run/state-result.ts";
import type { StateRun } from "../run/state-run.ts";
import { type Firing, watchedIds } from "../triggers.ts";
import { ForeseenHost } from "./foreseen-host.ts";

/** The foreseen machine of one plan. */
export class Foresight {
  readonly host: ForeseenHost;
  /** What would be done before, or begun, in its order. */
  readonly #done: Foreseen[] = [];
  readonly #capturing: Host;

  /** @param host - The machine as it is. */
  constructor(host: Host) {
    this.host = new ForeseenHost(host);
    this.#capturing = this.host.withoutCopies();
  }

  /** What an apply would do to an item when its turn comes, and foresees that it was done. Never rejects. */
  foresee(item: StateItem, run: StateRun, firing: Firing | null): ResultParts | Promise<ResultParts> {
    if (!this.host.isChanged) return this.#follow(item, { run, firing, seen: item });
    this.host.forgetQuestions();
    const seen = look(item, run, this.host);
    if (seen instanceof Promise)
      return seen.then((found) => this.#follow(item, { run, firing, seen: found }));
    return this.#follow(item, { run, firing, seen });
  }

  #follow(
    item: StateItem,
    { run, firing, seen }: { run: StateRun; firing: Firing | null; seen: Seen },
  ): ResultParts | Promise<ResultParts> {
    if (!item.target) return { outcome: "unchanged" };
    const { type, spec } = item.target;
    if (!seen.changes && run.stop.aborted) return { outcome: "skipped", skipped_because: "cancelled" };
    let wanting = this.#wantedFor(item, seen.changes ? null : seen.error);
    if (!seen.changes && wanting === null) return this.#failed(item, [], { firing, error: seen.error });
    const known = seen.changes ?? type.planning?.assumedChanges?.(spec);
    if (known?.length === 0 && !firing) return { outcome: "unchanged" };
    const changes = known ?? [];
    const conclude = (error: unknown): ResultParts => {
      if (error !== null && run.stop.aborted) return { outcome: "skipped", skipped_because: "cancelled" };
      if (error !== null) wanting = this.#wantedFor(item, error);
      const isFailed = error !== null && wanting === null;
      const below =
        error === null ? (type.planning?.unknownAfterApply?.(spec) ?? null) : isFailed ? null : "/";
      this.#done.push({ resource: item.resource, below });
      if (isFailed) return this.#failed(item, changes, { firing, error });
      return wouldChange(item, changes, { firing, wanting });
    };
    const making = changes.length > 0 || firing ? this.#make(item, changes, run) : null;
    return making instanceof Promise ? making.then(conclude) : conclude(making);
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
    { firing, error }: { firing: Firing | null; error: unknown },
  ): ResultParts {
    const action = firing ? firing.trigger : changes.length === 0 ? "none" : actionOf(item, changes);
    const parts = failureParts(item.resource, nameMissing(error, this.host));
    return { ...parts, action, changes: [...changes] };
  }

  /** The earlier resource of the run for want of which something failed, by its name; null where that is not why. */
  #wantedFor({ resource }: StateItem, error: unknown): string | null {
    if (!isOrchestratorError(error, "COMMAND_FAILED") && !isOrchestratorError(error, "HOST_ERROR"))
      return null;
    const bringers = this.host.wasAskedInVain() ? this.#done : this.#done.filter(mayBring(error));
    const needed = [...resource.requires, ...watchedIds(resource)];
    const isNeeded = (each: Foreseen): boolean =>
      each.resource.module === resource.module && needed.includes(each.resource.resource_id);
    // What it names itself is what it waits for; of others nobody knows more than that the last may be the one.
    const found = bringers.findLast(isNeeded) ?? bringers.at(-1);
    if (!found) return null;
    return found.resource.module === resource.module
      ? found.resource.resource_id
      : resourceKey(found.resource);
  }
}

/** A resource that would be done before. */
interface Foreseen {
  resource: ResolvedResource;
  /** Folder below which it may bring what nobody can tell; "/" = accounts and programs too, null = nothing. */
  below: string | null;
}

/** Which earlier resources may bring what this failed for want of. */
function mayBring(error: OrchestratorError): (earlier: Foreseen) => boolean {
  const { errno, missing, path } = error.details;
  const isMissing = errno === "ENOENT" || missing === true;
  if (error.code === "HOST_ERROR" && !isMissing) return () => false;
  return ({ below }) =>
    below === "/" || (below !== null && typeof path === "string" && path.startsWith(`${below}/`));
}

function wouldChange(
  item: StateItem,
  changes: readonly Change[],
  { firing, wanting }: { firing: Firing | null; wanting: string | null },
): ResultParts {
  const action = firing ? firing.trigger : actionOf(item, changes);
  const parts: ResultParts = { outcome: "would_change", action, changes: [...changes] };
  return wanting === null ? parts : { ...parts, message: `not checked yet: needs ${wanting} first` };
}
