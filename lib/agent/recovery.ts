/**
 * Puts in order what operations left that were cut off when the agent last ended.
 *
 * What they changed is ours from then on, what they took away is not any more, and what they only meant to change never
 * was. The journal tells which is which while the machine runs on; where a change was begun and its end is not in the journal, and
 * after a restart of the machine, which may have lost the last lines, the machine is looked at. What watches a thing that may have
 * changed owes its trigger.
 */
import type { Clock } from "../clock.ts";
import { OrchestratorError } from "../errors.ts";
import type { Host, LeftProgram } from "../host/host.ts";
import type { Logger } from "../logger.ts";
import type { Prior, ResourceTypes } from "../state/resource-type.ts";
import type { ResolvedResource } from "../state/resource.ts";
import { backupsOf } from "../state/resources/file/prior.ts";
import type { AppliedResource } from "../state/run/applied-resource.ts";
import { askPrior, type Looking, standsAsBefore } from "../state/run/as-before.ts";
import { claimsOn, distinct, withClaims } from "../state/run/claims.ts";
import { inheritParts } from "../state/run/parts.ts";
import { tellDeclaredPaths } from "../state/run/shared-things.ts";
import { desiredItem, type StateItem } from "../state/run/state-item.ts";
import type { AppliedSet } from "./applied-set.ts";
import {
  bootOf,
  type CutChange,
  type CutOperation,
  changesOf,
  identitiesOf,
  resourcesOf,
} from "./cut-operation.ts";
import { finishForgetting, isForgetting } from "./forget.ts";
import type { OperationJournal } from "./operation-journal.ts";
import { owedAfter } from "./owed-after.ts";
import { concludeRestart, restartMissing } from "./own-restart.ts";
import { toPeerError } from "./peer-error.ts";
import { ThingNames } from "./thing-names.ts";

/** What recovery works with. */
export interface RecoveryContext {
  journal: OperationJournal;
  applied: AppliedSet;
  host: Host;
  types: ResourceTypes;
  clock: Clock;
  logger: Logger;
  /** Programs that were found running and have been ended: those of the one operation that had begun. */
  left?: readonly LeftProgram[];
}

/**
 * Keeps what operations that were cut off may have changed before they are told to have ended: a crash in between makes it all
 * happen again. Copies of old files that nothing needs then are removed.
 */
export async function recoverCutOff(context: RecoveryContext): Promise<void> {
  const { journal, applied, host, logger, left = [] } = context;
  const cut = journal.cutOff();
  for (const operation of cut) {
    const restart = await concludeRestart(operation, context);
    if (restart === "done") continue;
    if (isForgetting(operation)) finishForgetting(operation, applied);
    else await keepChanges(operation, context);
    const isTheirs = left.length > 0 && journal.hasBegun(operation.operation_id);
    const error = restart ? restartMissing() : isTheirs ? endedPrograms(left) : null;
    journal.interrupt(operation.operation_id, error ? toPeerError(error) : undefined);
  }
  if (cut.length === 0) return;
  try {
    host.backups.prune(backupsOf(applied.resources));
  } catch (error) {
    logger.warn("Copies of old files that nothing needs any more could not be removed.", { error });
  }
}

function endedPrograms(left: readonly LeftProgram[]): OrchestratorError {
  const programs = left.map(({ program }) => program);
  const message = `The agent was killed. What it had left running was ended: ${programs.join(", ")}.`;
  return new OrchestratorError("COMMAND_FAILED", { message, details: { programs } });
}

/** Notes what an operation that did not come to its end changed. */
export async function keepChanges(operation: CutOperation, context: RecoveryContext): Promise<void> {
  const { applied, journal } = context;
  const own = applied.resources.map(({ resource }) => resource);
  const told = identitiesOf(operation, context.types);
  const names = new ThingNames([...own, ...resourcesOf(operation)], context, told);
  const changes = changesOf(operation, names);
  const known = new Map(applied.resources.map((entry) => [names.of(entry.resource), entry]));
  const boot = bootOf(operation);
  const isComplete = boot !== null && boot === journal.boot;
  if (!isComplete) addRemovals(changes, known);
  const asked = new Asked({ changes, known, names }, context);
  const noted = new Map(known);
  let differs = false;
  for (const change of changes) {
    const before = known.get(change.identity) ?? null;
    const after = isComplete && change.state === "meant" ? before : await asked.outcomeOf(change, before);
    if (after === before) continue;
    differs = true;
    if (after) known.set(change.identity, after);
    else known.delete(change.identity);
  }
  const owed = owedAfter(operation, { owed: applied.owed, names, isComplete });
  if (!differs && owed === applied.owed) return;
  const identityOf = (resource: ResolvedResource): string => names.of(resource);
  const { types, host } = context;
  const handing = { types, identityOf, host, desired: resourcesOf(operation) };
  applied.replace(inheritParts([...known.values()], noted, handing), owed);
}

/** Whatever was applied may have been taken away, or changed, by what the journal lost. */
function addRemovals(changes: CutChange[], known: Known): void {
  const told = new Set(changes.map(({ identity }) => identity));
  for (const [identity, { prior }] of known) {
    if (told.has(identity) || prior === null) continue;
    changes.push({ identity, state: "meant", removal: true, captured: null, resource: null });
  }
}

type Known = ReadonlyMap<string, AppliedResource>;

/** The machine, asked what became of changes. */
class Asked {
  readonly #context: RecoveryContext;
  readonly #items: ReadonlyMap<string, StateItem>;
  readonly #moves: ReadonlyMap<string, (prior: Prior) => Prior>;

  constructor(
    { changes, known, names }: { changes: readonly CutChange[]; known: Known; names: ThingNames },
    context: RecoveryContext,
  ) {
    this.#context = context;
    const resources = new Map([...known].map(([identity, entry]) => [identity, entry.resource]));
    for (const { identity, captured, resource } of changes) {
      const wanted = captured?.resource ?? resource;
      if (wanted) resources.set(identity, wanted);
    }
    const { types } = context;
    const named = [...resources].map(([identity, resource]) => [identity, names.asNamed(resource)] as const);
    const items = named.map(
      ([identity, { resource }]) => [identity, desiredItem(resource, { types, identity }, null)] as const,
    );
    this.#moves = new Map(named.map(([identity, { move }]) => [identity, move]));
    const placed = items.map(([, item]) => item);
    tellDeclaredPaths(placed, { identities: names.identities, types });
    this.#items = new Map(items);
  }

  /** What is to be noted of a thing; null = nothing: it is not ours. `before` is what is noted of it. */
  async outcomeOf(change: CutChange, before: AppliedResource | null): Promise<AppliedResource | null> {
    const { state, removal, captured, identity } = change;
    if (state === "untouched") return before;
    if (removal) {
      if (state === "changed") return null;
      return (await this.#isAsBefore(identity, before?.prior ?? null)) ? null : before;
    }
    const item = this.#items.get(identity);
    if (item?.target?.type.removing?.capturesFrom === "spec") return this.#specOutcome(item, change, before);
    const after = claimedBy(before, captured ? toNoted(captured) : newVersion(before, change));
    if (state === "changed" || isOurs(before)) return after;
    return (await this.#isAsBefore(identity, captured?.prior ?? null)) ? before : after;
  }

  /** What says nothing of the machine can't be compared with it: it was changed if that was begun. */
  async #specOutcome(
    item: StateItem,
    { state }: CutChange,
    before: AppliedResource | null,
  ): Promise<AppliedResource | null> {
    if (state === "meant") return before;
    const prior = await askPrior(item, null, this.#looking());
    return claimedBy(before, toNoted({ resource: item.resource, prior }));
  }

  async #isAsBefore(identity: string, prior: Prior | null): Promise<boolean> {
    const item = this.#items.get(identity);
    const moved = prior && (this.#moves.get(identity)?.(prior) ?? prior);
    return item !== undefined && standsAsBefore(item, moved, this.#looking());
  }

  #looking(): Looking & { types: ResourceTypes } {
    const { host, types, clock } = this.#context;
    return { host, types, clock, signal: new AbortController().signal };
  }
}

function isOurs(entry: AppliedResource | null): boolean {
  return entry !== null && (entry.prior !== null || entry.changed === true);
}

/** As it is noted of what was changed. */
function toNoted({ resource, prior }: AppliedResource): AppliedResource {
  return { resource, prior, ...(prior === null && { changed: true as const }) };
}

/** What was applied apart from an operation goes on to want the thing. Whose claims are over, the next apply of their module tells. */
function claimedBy(before: AppliedResource | null, after: AppliedResource | null): AppliedResource | null {
  if (!before || !after || before === after) return after;
  return withClaims(after, distinct([...claimsOn(after), ...claimsOn(before)]));
}

function newVersion(before: AppliedResource | null, { resource }: CutChange): AppliedResource | null {
  if (!before || !resource) return before;
  const { stuck: _gone, ...entry } = before;
  return { ...entry, resource };
}
