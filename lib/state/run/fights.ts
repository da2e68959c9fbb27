/** Refuses what would never come to rest: resources of which one undoes what another does. */
import { isOrchestratorError, OrchestratorError } from "../../errors.ts";
import type { Host } from "../../host/host.ts";
import { andThen } from "../../internal/maybe-waiting.ts";
import { holdsSecret } from "../../internal/secret-mark.ts";
import { WorkBudget } from "../../internal/work.ts";
import { fightConflict } from "../conflicts.ts";
import type { ResourceType, ResourceTypes } from "../resource-type.ts";
import type { ResolvedResource } from "../resource.ts";
import { readText } from "../resources/shared/text-file.ts";
import {
  type Fight,
  findFights,
  namedBy,
  sharedTexts,
  type TextClaim,
  type TextEdit,
} from "../text-edits.ts";
import type { Identities } from "./identities.ts";
import { read } from "./prepared.ts";
import { contradictsApplied } from "./shared-things.ts";
import type { StateItem } from "./state-item.ts";

/** A resource with a text, as this machine names it. */
type Claim = TextClaim<ResolvedResource> & {
  target: NonNullable<StateItem["target"]>;
  /** Null for one that the run is not about. */
  item: StateItem | null;
};

/**
 * Refuses desired items that fight each other, or what modules were applied with that the run is not about. The machine knows what
 * the orchestrator does not: which paths are one file, and the values of secrets. What it will know only when it is downloaded is
 * guarded: who would change it then is refused.
 *
 * @param outside - What modules were applied with that the run is not about.
 * @throws {OrchestratorError} `RESOURCE_CONFLICT`.
 */
export function refuseFights(
  items: readonly StateItem[],
  outside: readonly ResolvedResource[],
  { identities, types }: { identities: Identities; types: ResourceTypes },
): void {
  const claimsOf = (
    resource: ResolvedResource,
    { target, item }: Pick<Claim, "item"> & Pick<StateItem, "target">,
  ): Claim[] => {
    if (!target || resource.skip) return [];
    return (target.type.edits?.(target.spec) ?? []).flatMap((edit) =>
      textsOf(edit, identities).map((text) => {
        return { resource, identity: identities.of(resource), text, edit, target, item };
      }),
    );
  };
  const others = outside.flatMap((resource) => {
    // The run knows its own secrets alone.
    if (holdsSecret(resource.spec)) return [];
    return claimsOf(resource, { target: read(resource, types).target, item: null });
  });
  const own = items.flatMap((item) =>
    item.removal ? [] : claimsOf(item.resource, { target: item.target, item }),
  );
  const shared = [...sharedTexts([...others, ...own]).values()];
  const stays = new Set(outside);
  // Each of them is looked at by its own check, too: that costs the machine no less.
  const fight = findFights(shared.flat(), new WorkBudget()).find(({ second }) => !stays.has(second));
  if (fight) throw refusalOf(fight, stays.has(fight.first));
  for (const sharers of shared) {
    const owner = sharers.find(({ edit }) => edit.isWhole === true && edit.edit === null);
    if (owner) for (const sharer of sharers) if (sharer.identity !== owner.identity) guard(sharer, owner);
  }
}

/** What names a text on this machine. */
function textsOf({ of }: TextEdit, identities: Identities): string[] {
  const reals = (path: string): string[] =>
    identities.inHomes(path).map((place) => identities.realPath(place));
  return [...new Set(namedBy(of, reals))];
}

/**
 * Tells each removal what others, which were applied and stay, make of the texts that it would bring back: it leaves a part that they
 * would make again. Those that come with the run come after it.
 *
 * @param outside - What modules were applied with that the run is not about.
 */
export function tellEdits(
  items: readonly StateItem[],
  outside: readonly ResolvedResource[],
  {
    identities,
    types,
    applied,
  }: { identities: Identities; types: ResourceTypes; applied: ReadonlyMap<string, unknown> },
): void {
  const asking = items.filter(({ removal, target }) => removal && target?.type.edits);
  if (asking.length === 0) return;
  const staying = items.filter(({ removal, identity }) => !removal && applied.has(identity));
  const others = outside.map((resource) => ({ resource, ...read(resource, types) }));
  const edits = [...staying, ...others].flatMap(({ resource, target }) =>
    resource.skip || !target || holdsSecret(resource.spec) ? [] : (target.type.edits?.(target.spec) ?? []),
  );
  const named = edits.flatMap((edit) => textsOf(edit, identities).map((text) => ({ text, edit })));
  const sharing = (own: TextEdit): TextEdit[] => {
    const texts = textsOf(own, identities);
    return named.filter(({ text }) => texts.includes(text)).map(({ edit }) => edit);
  };
  const editsOf = (path: string): TextEdit[] => sharing({ of: path, edit: null });
  for (const item of asking) {
    const { type, spec } = item.target!;
    item.target = { type, spec: type.removing?.withEdits?.(spec, editsOf) ?? spec };
    leaveShared(item, { sharing, placesOf: (path) => identities.inHomes(path) });
  }
}

/** Has a removal find nothing to do where it would change what somebody else makes of the text, and nobody would have to make it again now. */
function leaveShared(
  item: StateItem,
  {
    sharing,
    placesOf,
  }: { sharing: (own: TextEdit) => TextEdit[]; placesOf: (path: string) => readonly string[] },
): void {
  const { type, spec } = item.target!;
  // Who asks for the edits of others minds them itself.
  if (type.removing?.withEdits) return;
  const shared = (type.edits?.(spec) ?? []).flatMap((own) => {
    const others = sharing(own);
    if (others.length === 0 || own.isNoFile === true || !/^[/~]/.test(own.of)) return [];
    return placesOf(own.of).map((path) => ({ path, own, others }));
  });
  if (shared.length === 0) return;
  const check: ResourceType["check"] = (of, host, signal) =>
    andThen(type.check(of, host, signal), (changes) => {
      const isUndone = changes.length > 0 && shared.some((text) => undoes(text, host));
      item.isShared = isUndone;
      return isUndone ? [] : changes;
    });
  item.target = { type: Object.create(type, { check: { value: check } }) as ResourceType, spec };
}

/** Whether what one makes of a file would be changed back by others, who would leave it as it is now. */
function undoes(
  { path, own, others }: { path: string; own: TextEdit; others: readonly TextEdit[] },
  host: Host,
): boolean {
  // In a home its user may have put a link.
  const inHome = own.of.startsWith("~") ? own.of.slice(own.of.indexOf("/")) : null;
  try {
    const files = inHome === null ? host.files : host.files.below(path.slice(0, -inHome.length));
    const text = files.stat(path)?.kind === "file" ? readText(path, { files }) : null;
    const made = own.edit ? own.edit(text) : text;
    if (made === text) return false;
    const lost = linesLost(text, made);
    return others.some(
      (other) => mayWant(lost, other) && leaves(other, text) && !(leaves(other, made) ?? true),
    );
  } catch (error) {
    // Whatever can't be read so says that itself, where it matters.
    if (isOrchestratorError(error)) return false;
    throw error;
  }
}

function refusalOf(fight: Fight<ResolvedResource>, isApart: boolean): OrchestratorError {
  const conflict = fightConflict(fight);
  if (isApart) return contradictsApplied(conflict);
  return new OrchestratorError("RESOURCE_CONFLICT", { message: conflict.message });
}

/** Has a resource refuse to change a text that another one says, where it stands as that one says. */
function guard({ item, resource: second, text }: Claim, owner: Claim): void {
  if (!item?.target || item.target.type.sharing) return;
  const { type, spec } = item.target;
  const refusal = refusalOf({ first: owner.resource, second, text, isWhole: true }, owner.item === null);
  const apply = async (...making: Parameters<ResourceType["apply"]>): Promise<void> => {
    const [, , host, signal] = making;
    const left = await owner.target.type.check(owner.target.spec, host, signal);
    const stands = !left.some(({ property }) => property === "content" || property === "ensure");
    if (stands) throw refusal;
    await type.apply(...making);
  };
  item.target = { type: Object.create(type, { apply: { value: apply } }) as ResourceType, spec };
}

function leaves({ edit }: TextEdit, text: string | null): boolean | null {
  return edit === null ? null : edit(text) === text;
}

/** Whether one may miss the lines that a text loses. Of the many lines that modules have in one file each is asked of these alone. */
function mayWant(lost: string | null, other: TextEdit): boolean {
  if (lost === null || other.isOneLine !== true) return true;
  try {
    return leaves(other, lost) === true && leaves(other, "") === false;
  } catch (error) {
    if (isOrchestratorError(error)) return true;
    throw error;
  }
}

/** The lines that a text loses where it loses some and nothing else about it is another; null where there is more to it. */
function linesLost(text: string | null, made: string | null): string | null {
  if (text === null || made === null) return null;
  const kept = made.split("\n");
  let at = 0;
  const lost = text.split("\n").filter((line) => {
    if (line !== kept[at]) return true;
    at += 1;
    return false;
  });
  return at === kept.length ? lost.map((line) => `${line}\n`).join("") : null;
}
