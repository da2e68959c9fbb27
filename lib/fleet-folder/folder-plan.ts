import { toHex, toUtf8 } from "../crypto/encoding.ts";
import { nodeCrypto } from "../crypto/node-crypto.ts";
import type { ErrorCode, Issue } from "../errors.ts";
import type { JsonObject } from "../json.ts";
import { mostThresholds, requireFewThresholds } from "../thresholds/threshold-rules.ts";
import { findHiddenBefore, findUnkept } from "./channel-secrets.ts";
import { changesBetween, toChange, type FieldChange } from "./field-changes.ts";
import type { DeclaredThing, FleetFolder, FolderFault, FolderKind, PresentThing } from "./fleet-folder.ts";
import { faultOf, inOrder, refusalsOf } from "./folder-faults.ts";
import { byKind } from "./folder-reader.ts";
import { kindsOfThings, nounOf } from "./kinds.ts";
import { PresentThings } from "./matching.ts";
import { shownContent } from "./module-content.ts";
import { findMissingModules, isModule, requiredFirst } from "./module-order.ts";
import { freeKeysFirst } from "./operator-keys.ts";
import type { FolderPlan, FolderPlanOptions, FolderStep } from "./plan-types.ts";
import { findRemovalFaults } from "./removal-rules.ts";
import { findTimingRefusals, isOver } from "./window-times.ts";

/**
 * Compares a fleet folder with what a server has. Pure: it asks nobody and changes nothing.
 *
 * @param present - All that the server has of every kind.
 */
export function planFleetFolder(
  folder: FleetFolder,
  present: readonly PresentThing[],
  options: FolderPlanOptions,
): FolderPlan {
  return new FolderPlanner(folder, present, options).plan();
}

class FolderPlanner {
  readonly #folder: FleetFolder;
  readonly #present: readonly PresentThing[];
  readonly #index: PresentThings;
  readonly #options: FolderPlanOptions;
  readonly #steps: FolderStep[] = [];
  readonly #unmanaged: { kind: FolderKind; name: string }[] = [];
  readonly #faults: FolderFault[];
  readonly #matched = new Set<PresentThing>();
  /** Names of the operators of the folder, in lower case. */
  #declared: ReadonlySet<string> | null = null;

  constructor(folder: FleetFolder, present: readonly PresentThing[], options: FolderPlanOptions) {
    this.#folder = folder;
    this.#present = present;
    this.#index = new PresentThings(present);
    this.#options = options;
    this.#faults = [...folder.faults];
  }

  plan(): FolderPlan {
    const things = requiredFirst(byKind(this.#folder.things));
    for (const thing of things) this.#compare(thing);
    this.#requireModules(things);
    const removals = this.#removals();
    const pruned = this.#options.prune ? removals : [];
    const { steps, blocked } = freeKeysFirst(this.#steps, pruned, this.#present);
    for (const { step, holder } of blocked) this.#refuseKey(step, holder);
    this.#requireFewThresholds(pruned);
    this.#faults.push(
      ...findRemovalFaults({
        folder: this.#folder,
        removals: pruned,
        present: this.#present,
        options: this.#options,
      }),
    );
    return {
      steps,
      removals: removals.filter((step) => !steps.includes(step)),
      unmanaged: this.#unmanaged,
      faults: inOrder(this.#faults),
    };
  }

  #compare(thing: DeclaredThing): void {
    const { label } = this.#folder;
    if (label === null) return;
    const { kind, name } = thing;
    const match = this.#index.find(thing, label) ?? this.#renamed(thing);
    if (!match) return this.#create(thing);
    if (this.#matched.has(match))
      return this.#fault(thing, {
        code: "ALREADY_EXISTS",
        message: `Another entry of the folder is the same ${nounOf(kind)} ${match.id}.`,
      });
    this.#matched.add(match);
    if (kind === "channels") this.#requireHidden(thing, match);
    const after = this.#comparable(thing, match);
    const changes = changesBetween(kind, match.values, after);
    if (kind === "operators" && match.name !== name)
      changes.push({ field: "username", before: match.name, after: name });
    const isOurs = match.managedBy?.label === label;
    if (!isOurs && !this.#options.takeOver) {
      if (match.managedBy === null && changes.length === 0) this.#unmanaged.push({ kind, name });
      else this.#fault(thing, { code: "ALREADY_EXISTS", message: this.#whoseItIs(thing, match) });
      return;
    }
    const isRenamed = changes.some(({ field }) => field === "username");
    if (!isOurs || (match.managedBy?.name !== name && !isRenamed))
      changes.push(managed(match, { label, name }));
    if (changes.length > 0) this.#change(thing, match, { changes, isOurs });
  }

  #create(thing: DeclaredThing): void {
    const { kind, name, values } = thing;
    // What is over for good can't be made any more.
    if (kind === "windows" && isOver(values, this.#options.nowMs)) return;
    if (kind === "channels")
      for (const { path, message } of findUnkept(values, null)) this.#fault(thing, { path, message });
    const version = kind === "modules" ? 0 : null;
    const sent = { ...values, managed_by: { label: this.#folder.label!, name } };
    this.#steps.push({ action: "create", kind, name, id: null, version, changes: [], values: sent });
  }

  #change(
    thing: DeclaredThing,
    match: PresentThing,
    { changes, isOurs }: { changes: FieldChange[]; isOurs: boolean },
  ): void {
    const { kind, name, values } = thing;
    const managed_by = { label: this.#folder.label!, name };
    const fields = new Set(changes.map(({ field }) => field.split(".")[0]!));
    const { fixed }: { fixed: readonly string[] } = kind === "modules" ? { fixed: [] } : kindsOfThings[kind];
    for (const field of fixed)
      if (fields.has(field))
        this.#fault(thing, {
          path: [field],
          message: `The ${field} of a ${nounOf(kind)} stays what it is: give this one another name.`,
        });
    if (kind === "windows" && timeFields.some((field) => fields.has(field))) this.#requireTimes(thing, match);
    const isReplaced = kind === "operators" && (fields.has("public_key") || fields.has("username"));
    if (kind === "operators" && (isReplaced || fields.has("role"))) this.#requireOther(thing, match);
    const isWhole = isReplaced || kind === "modules";
    this.#steps.push({
      action: isReplaced ? "replace" : "change",
      kind,
      name,
      id: match.id,
      version: match.version,
      changes,
      ...(!isOurs && { takenFrom: match.managedBy?.label ?? null }),
      values: { ...(isWhole ? values : toChange(kind, fields, values)), managed_by },
    });
  }

  #removals(): FolderStep[] {
    const { label } = this.#folder;
    const left = this.#present.filter(
      (thing) => label !== null && thing.managedBy?.label === label && !this.#matched.has(thing),
    );
    return byKind(left.map((thing) => ({ ...thing, name: thing.managedBy!.name })))
      .toReversed()
      .map(({ kind, name, id, version }) => {
        return { action: "remove", kind, name, id, version, changes: [], values: {} };
      });
  }

  /** The fields as they are compared: of a module the hash of its content, or of what those see of it who may not see its secrets. */
  #comparable({ kind, values }: DeclaredThing, { values: present }: PresentThing): JsonObject {
    if (kind !== "modules") return values;
    const text = String(values["content"]);
    const hash = hashOf(text);
    if (hash === present["content"]) return present;
    const shown = shownContent(text);
    return shown !== null && hashOf(shown) === present["content"] ? present : { content: hash };
  }

  /** The operator who has the key of an entry whose name nobody has: where the folder does not have that one, it has another name now. */
  #renamed({ kind, values }: DeclaredThing): PresentThing | null {
    if (kind !== "operators") return null;
    this.#declared ??= new Set(
      this.#folder.things.filter((thing) => thing.kind === kind).map(({ name }) => name.toLowerCase()),
    );
    const holder = this.#index.holderOf(values["public_key"]);
    return holder && !this.#declared.has(holder.name.toLowerCase()) ? holder : null;
  }

  #refuseKey({ name }: FolderStep, { name: holder, managedBy }: PresentThing): void {
    const thing = this.#folder.things.find((each) => each.kind === "operators" && each.name === name)!;
    const isOurs = managedBy?.label === this.#folder.label;
    const hint = isOurs
      ? "--prune removes that one, which the folder does not have any more."
      : "Have the folder say what becomes of that one.";
    const message = `The operator ${holder} of the server has this key. ${hint}`;
    this.#fault(thing, { code: "ALREADY_EXISTS", path: ["public_key"], message });
  }

  /** What the files alone don't show: times that have passed, and a beginning that the server chose. */
  #requireTimes(thing: DeclaredThing, match: PresentThing): void {
    for (const refusal of findTimingRefusals(thing.values, match.values, this.#options.nowMs)) {
      const isTold = this.#folder.faults.some((fault) => isAt(fault, thing, refusal.path));
      if (!isTold) this.#faults.push(faultOf(thing, refusal));
    }
  }

  /** Thresholds of everybody count. */
  #requireFewThresholds(pruned: readonly FolderStep[]): void {
    const isThreshold = ({ kind }: { kind: FolderKind }): boolean => kind === "thresholds";
    const kept = this.#present.filter(isThreshold).length - pruned.filter(isThreshold).length;
    const made = this.#steps.filter((step) => isThreshold(step) && step.action === "create");
    const first = made[Math.max(mostThresholds - kept, 0)];
    const thing = this.#folder.things.find((each) => isThreshold(each) && each.name === first?.name);
    if (!thing || this.#folder.faults.length > 0) return;
    for (const refusal of refusalsOf(() => requireFewThresholds(kept + made.length)))
      this.#faults.push(faultOf(thing, refusal));
  }

  #requireHidden(thing: DeclaredThing, match: PresentThing): void {
    for (const { path, message } of [
      ...findHiddenBefore(thing.values, match.values),
      ...findUnkept(thing.values, match.values),
    ])
      if (!this.#folder.faults.some((fault) => isAt(fault, thing, path)))
        this.#fault(thing, { path, message });
  }

  #requireOther(thing: DeclaredThing, { id }: PresentThing): void {
    if (id !== this.#options.operatorId) return;
    this.#fault(thing, {
      code: "FORBIDDEN",
      path: ["role"],
      message: "You are signed in as this operator: somebody else changes your name, role or key.",
    });
  }

  /** Modules that are nowhere, and revisions that can't be there. */
  #requireModules(things: readonly DeclaredThing[]): void {
    const newest = new Map<string, number>();
    for (const { kind, name, version } of this.#present) if (kind === "modules") newest.set(name, version);
    for (const { kind, name, version } of this.#steps)
      if (kind === "modules") newest.set(name, (version ?? 0) + 1);
    // Without a label there are no steps.
    for (const { name } of things.filter(isModule)) newest.set(name, newest.get(name) ?? 1);
    const known = { newest, faulty: this.#folder.faultyModules };
    for (const thing of things)
      for (const { path, message } of findMissingModules(thing, known))
        this.#fault(thing, { code: "NOT_FOUND", path, message });
  }

  #whoseItIs({ kind, name }: DeclaredThing, { managedBy }: PresentThing): string {
    const what = `the ${nounOf(kind)} ${name} of the server`;
    return managedBy
      ? `The folder ${managedBy.label} manages ${what}. --take-over has this folder manage it.`
      : `No folder manages ${what}, and it differs. --take-over has this folder manage and change it.`;
  }

  #fault(
    thing: DeclaredThing,
    {
      code = "VALIDATION_FAILED",
      path = [],
      message,
    }: { code?: ErrorCode; path?: Issue["path"]; message: string },
  ): void {
    this.#faults.push(faultOf(thing, { code, path, message }));
  }
}

/** What says when a window is. */
const timeFields = ["starts_at", "ends_at", "schedule"];

/** As lists of modules have it. */
function hashOf(text: string): string {
  return toHex(nodeCrypto.sha256(toUtf8(text)));
}

function managed({ managedBy }: PresentThing, after: { label: string; name: string }): FieldChange {
  return { field: "managed_by", before: managedBy && { ...managedBy }, after };
}

function isAt(fault: FolderFault, { file, kind, name }: DeclaredThing, path: Issue["path"]): boolean {
  return fault.file === file && JSON.stringify(fault.path) === JSON.stringify([kind, name, ...path]);
}
