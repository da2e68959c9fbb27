/** The contract of a type of resource. */
import type { z } from "zod";
import type { FileOwner, Host, HostFiles, WriteOptions } from "../host/host.ts";
import type { JsonObject } from "../json.ts";
import type { StayingThings } from "./resource.ts";
import type { Action, Change } from "./result.ts";
import type { TextEdit } from "./text-edits.ts";
import type { Trigger } from "./triggers.ts";

/** What stood before the first change: a resource to converge to when the one that replaced it is taken away. */
export interface Prior {
  /** Type that restores it; not always the type that replaced it (a file may have taken the place of a link). */
  type: string;
  /** Properties of that type. */
  spec: JsonObject;
}

/**
 * One kind of thing that can be declared on a machine. Specs are plain JSON that its schema accepted.
 *
 * A type says how to look (`check`), how to change (`apply`) and what stood before (`capture`). The engine alone decides
 * when: it checks, applies and checks again; a plan is the same check. Taking a resource away has no code of its own: the
 * engine converges what `capture` returned before the first change, with the same `check` and `apply`. What only some types
 * can do stands in groups: `planning`, `triggering` and `removing`. What every type keeps to is tried by `resourceLaws` of
 * `fleetwright/testing`.
 */
export interface ResourceType<Spec = unknown> {
  /** Name in a module, snake_case, e.g. "file". */
  readonly type: string;
  /** One sentence for the reference pages and the editors. */
  readonly summary: string;
  /** Properties as a module writes them. Strict: an unknown property is a fault. */
  readonly schema: z.ZodType<Spec>;
  /** Types of one namespace share their identities: a file and a folder can't both be at one path. Default: the type's own name. */
  readonly namespace?: string;
  /** What the resource is about on the machine; null = nothing but its module and id, which then names it. */
  identity(spec: Spec): string | null;
  /** Whether the identity begins with `path`, as it is one in the namespace "path": two paths to one thing are one then. Default: no. */
  readonly identityBeginsWithPath?: boolean;
  /** Whether `path` is a name in a table, as it is written: a link that leads it elsewhere makes no other thing of it. Default: no. */
  readonly pathIsName?: boolean;
  /** What it is about on this machine, which may know one account by several names; reads only. Default: `identity`. */
  identityHere?(spec: Spec, host: Host): string;
  /** The account in whose home it is: where that moves, it is another thing there. Default: it is in nobody's. */
  inHomeOf?(spec: Spec): string;
  /** Whether the identity quotes a value that may be a secret: a sensitive resource is then named by its module and id. Default: no. */
  identityHoldsValue?(spec: Spec): boolean;
  /** Paths that it makes or edits, for who looks after what nobody declares; `~NAME` begins one in an account's home. Default: its `path`. */
  paths?(spec: Spec): readonly string[];
  /** Those of them whose mode it says. Default: its `path`, where it has a `mode`. */
  modes?(spec: Spec): readonly string[];
  /** The folder that it has gone, and with it all below: who wants something there contradicts it. Default: none. */
  clears?(spec: Spec): string | null;
  /**
   * What it makes of the texts that others may be about a part of, such as a line of a file. Two resources of which one undoes
   * what the other makes are a conflict. Default: it shares no text.
   */
  edits?(spec: Spec): readonly TextEdit[];
  /** Whether `check` starts programs: then several are checked at once, each with a deadline of its own. Default: no. */
  readonly checksWithPrograms?: boolean;
  /**
   * Whether a cancel ends a change of it in the middle: for what may take as long as it likes and can be ended anywhere, such as a
   * script. Default: no, the change in progress is finished.
   */
  readonly endsOnCancel?: boolean;
  /**
   * What differs from the spec; empty = in sync. Reads only. Values may be secret: the engine hides those of a sensitive
   * resource.
   *
   * @throws OrchestratorError `HOST_ERROR` where it can't look or where something is in the way.
   */
  check(spec: Spec, host: Host, signal: AbortSignal): Change[] | Promise<Change[]>;
  /**
   * Makes exactly these changes. Looks at the signal before each thing it does.
   *
   * @throws OrchestratorError `HOST_ERROR` where the machine refuses; `COMMAND_FAILED` where a command ends with an error.
   */
  apply(spec: Spec, changes: readonly Change[], host: Host, signal: AbortSignal): void | Promise<void>;
  /** What stands there now, complete enough to come back to; null = nothing would be done to come back. May keep backups. */
  capture(spec: Spec, host: Host, signal: AbortSignal): Prior | null | Promise<Prior | null>;
  /** One line for people. Total: any change, also of a property that it does not know. */
  describe(change: Change): string;
  /** What applying these changes is called. Default: by the property `ensure`, else "update". */
  action?(changes: readonly Change[]): Action;
  /** What it tells of a run before it changes anything. Default: what `check` and `apply` tell by themselves. */
  readonly planning?: ResourcePlanning<Spec>;
  /** How it acts because something that it watches changed. Default: no trigger can be asked of it. */
  readonly triggering?: ResourceTriggering<Spec>;
  /** What else it needs to come back to what stood before. Default: `capture` alone. */
  readonly removing?: ResourceRemoving<Spec>;
  /** What it knows of others that are about a part of the same. Default: a resource is about one thing, which its identity names. */
  readonly sharing?: ResourceSharing<Spec>;
  /** How it restarts what the agent itself is a part of. Default: nothing that it does ends the agent. */
  readonly ending?: ResourceEnding<Spec>;
}

/** What a type tells of a run before it changes anything. */
export interface ResourcePlanning<Spec = unknown> {
  /**
   * Makes on the foreseen machine of a plan what `apply` would have made on the real one, for the checks of what comes after
   * it. Only for a type whose programs make what others look at: they do nothing there, and what `apply` does itself is
   * foreseen without this. Default: `apply`.
   */
  foresee?(
    spec: Spec,
    changes: readonly Change[],
    host: ForeseenMachine,
    signal: AbortSignal,
  ): void | Promise<void>;
  /**
   * The folder in which anything may be after an apply that no plan can know; "/" = anywhere, programs and accounts too. A
   * later resource that misses something there, or rests on it, is `unknown` in the plan. Default: null, all is known.
   */
  unknownAfterApply?(spec: Spec): string | null;
  /**
   * Places on which rests what `check` found beside what it looked at by itself: a path stands for all that is there and below it,
   * "/" for what nobody can know. Where an earlier resource would change something there, or may bring what no plan knows, the plan
   * says `unknown`; with "/" one of the same module, or of one that it requires. Default: none.
   */
  restsOn?(spec: Spec, changes: readonly Change[]): readonly string[];
  /**
   * The changes that a plan shows where `check` can't look yet, because its program or what it asks about comes with an earlier
   * resource. The plan says `unknown` in any case. Default: none are shown.
   */
  assumedChanges?(spec: Spec): Change[];
  /** Adds to the spec, for all that follows, what it has to know of the paths that the resources of the run declare, its own too. */
  withDeclaredPaths?(spec: Spec, paths: readonly string[], said: PathsSaid): Spec;
}

/** The paths of which other resources say this: that nothing is there, all of the content, some or all of it, the mode, the owner, the group. */
export type PathsSaid = {
  [aspect in "absent" | "whole" | "content" | "mode" | "owner" | "group"]: readonly string[];
};

/** How a type acts because something that it watches changed. */
export interface ResourceTriggering<Spec = unknown> {
  /** Triggers that can be asked of it: "run" by `run_on`, "reload" by `reload_on`, "restart" by `restart_on`. */
  readonly triggers: readonly Trigger[];
  /** Acts, in place of `apply`, and makes the changes that were found (none where it was in sync), so that the next check is empty. */
  fire(call: FireCall<Spec>, host: Host, signal: AbortSignal): Promise<void>;
  /** Why a resource with this spec can't have a trigger; null = it can. Default: it can. */
  faultWith?(spec: Spec): string | null;
  /** Why a resource with this spec can't be without a trigger; null = it acts without one too. Default: it does. */
  faultWithout?(spec: Spec): string | null;
}

/** What a type needs, beside `capture`, to come back to what stood before. */
export interface ResourceRemoving<Spec = unknown> {
  /** Properties as `capture` writes them, where they say more than a module may. Default: the type's `schema`. */
  readonly priorSchema?: z.ZodType<Spec>;
  /** Where `capture` takes its answer from: "machine" (default), asked before the first change; "spec", again after each apply. */
  readonly capturesFrom?: "machine" | "spec";
  /**
   * Whether `capture` writes down properties of the spec, which stay on the machine's disk then: no secret can be in such a resource.
   * Default: it writes down what it found on the machine alone.
   */
  keepsSpec?(spec: Spec): boolean;
  /**
   * Adds to what an earlier run captured, before this one changes anything: for a type whose later version may take away what the first
   * left alone. Default: what was captured first is all.
   */
  extendPrior?(prior: Prior, spec: Spec, host: Host, signal: AbortSignal): Prior | Promise<Prior>;
  /**
   * What stood before, to be come back to in the way that the last version of the resource says, such as whether changes of others may
   * be overwritten. Looks at nothing. Default: as it was captured.
   */
  asDeclared?(prior: Prior, spec: Spec): Prior;
  /**
   * Nothing at the place of the resource, to be come to before what stood there is come back to: where that is of another type, which
   * would take what the last version put there for somebody else's. Null = it can take its place. Looks at nothing. Default: null.
   */
  gone?(spec: Spec, prior: Prior): Prior | null;
  /**
   * Adds to what stood before what it has to know of the texts that other resources are about and that stay, by path: what is theirs by
   * now is not come back to. Looks at nothing. Default: as it was captured.
   */
  withEdits?(spec: Spec, editsOf: (path: string) => readonly TextEdit[]): Spec;
  /**
   * Adds to what stood before what it has to know of what others have and that stays: what is theirs, too, is not taken away. Looks at
   * nothing. Default: as it was captured.
   */
  withStaying?(spec: Spec, staying: StayingThings): Spec;
  /**
   * Names the text of which it is a part. What stood before of the text as a whole (`unended`, `remove_empty`, its modes), which the
   * first part alone noted, is noted with those that came later when that one goes. Default, and where it throws or says null: it is no part of one.
   */
  partOf?(spec: Spec): string | null;
}

/** How a type whose resource may be about several things, such as a list of packages, shares some of them with others. */
export interface ResourceSharing<Spec = unknown> {
  /** Names of the things. */
  parts(spec: Spec): readonly string[];
  /** Whether two resources that share a part can't both be as they say. */
  contradicts(one: Spec, other: Spec): boolean;
  /**
   * Adds to the spec what it has to know of the parts that are declared, also by modules that the run is not about; all that follows,
   * `check` and `apply` too, gets what this returns. What stood before must leave declared parts alone: they are as they are to be.
   */
  withDeclaredParts(spec: Spec, declared: DeclaredParts<Spec>): Spec;
  /**
   * What stood before an heir: a resource that shares parts with one that was taken away, and for which they were left. Null =
   * nothing of what stood before the latter is about a part of the heir.
   */
  inherit(left: Spec, heir: PartHeir<Spec>): JsonObject | null;
}

/** Resources that are declared, by the names of their parts. */
export type DeclaredParts<Spec = unknown> = ReadonlyMap<string, readonly DeclaredPart<Spec>[]>;

/** A resource that declares a part. */
export interface DeclaredPart<Spec = unknown> {
  /** Module and id. */
  key: string;
  spec: Spec;
}

/** A resource for which parts of another were left. */
export interface PartHeir<Spec = unknown> {
  spec: Spec;
  /** What stood before it; null = nothing to come back to. */
  prior: Spec | null;
  /** Whether it was applied before the one that was taken away. */
  isOlder: boolean;
  /** Whether it was not brought about yet: of parts that were not left for it, nobody knows what stood before. */
  isAwaited: boolean;
}

/**
 * How a type restarts what the agent itself is a part of. The engine makes that the last act of a run: all else that the resource
 * declares is made by `apply` before, and the next start of the agent tells what came of it.
 */
export interface ResourceEnding<Spec = unknown> {
  /** Triggers that end the agent where it is a part. They are never fired then. */
  readonly triggers: readonly Trigger[];
  /**
   * Names the run of that of which the agent is a part: another name after each start. Null = the agent is no part of it, or nobody can
   * tell. Reads only.
   */
  ownRun(spec: Spec, host: Host, signal: AbortSignal): Promise<string | null>;
  /** Asks for what a trigger stands for and waits for no more than that this was heard. */
  order(spec: Spec, host: Host, signal: AbortSignal): Promise<void>;
}

/** Files of a {@link ForeseenMachine}. */
export interface ForeseenFolders extends HostFiles {
  /** Foresees that nothing is in a folder any more. */
  clear(path: string): void;
  /** Foresees that nothing stands at a path, whatever stood there. */
  removeAll(path: string): void;
  /** Foresees that a folder and all in it belongs to another user where it was that of `from`, and so with the group. */
  handOver(path: string, owners: { from: Required<FileOwner>; to: Required<FileOwner> }): void;
  /** Foresees a copy of a file at another path, also of one whose content nobody can know yet. */
  copyFile(from: string, to: string, options: WriteOptions): void;
}

/**
 * The machine of a plan, as it will be: what is written there is read back from there, and changes nothing real. Programs do
 * nothing and succeed, but those that are asked something and those that judge, which get a copy to look at.
 */
export interface ForeseenMachine extends Host {
  readonly files: ForeseenFolders;
  /** Says why nobody can tell what an apply would do, in one sentence: the plan says `unknown`, also where `foresee` then throws. */
  cannotTell(why: string): void;
  /**
   * Says that the refusal which follows may come from what is in these places, as {@link ResourcePlanning.restsOn} has them:
   * where an earlier resource changes something there the plan says `unknown` in place of `failed`.
   */
  refusalRestsOn(places: readonly string[]): void;
}

/** What fires, and what was found before. */
export interface FireCall<Spec> {
  trigger: Trigger;
  spec: Spec;
  changes: readonly Change[];
}

/** Declares a type of resource; keeps the type of its spec. */
export function defineResourceType<Spec>(definition: ResourceType<Spec>): ResourceType<Spec> {
  return definition;
}

/** Types by their name. */
export type ResourceTypes = ReadonlyMap<string, ResourceType>;

/** What names a thing on a machine whatever type declares it: two resources with one key are about the same thing. */
export function identityKey(type: ResourceType, identity: string): string {
  return `${type.namespace ?? type.type}:${identity}`;
}

/** {@link identityKey} of a resource, also of one whose type is not known. */
export function identityKeyAmong(
  types: ResourceTypes,
  { type: name, identity }: { type: string; identity: string },
): string {
  const type = types.get(name);
  return type ? identityKey(type, identity) : `${name}:${identity}`;
}
