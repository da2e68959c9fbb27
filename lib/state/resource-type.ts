/** The contract of a type of resource. */
import type { z } from "zod";
import type { Host, HostFiles, WriteOptions } from "../host/host.ts";
import type { JsonObject } from "../json.ts";
import type { Action, Change } from "./result.ts";
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
  /**
   * Types of one namespace share their identities: a file and a folder can't both be declared at one path.
   * Default: the type's own name.
   */
  readonly namespace?: string;
  /** What the resource is about on the machine; null = nothing but its module and id, which then names it. */
  identity(spec: Spec): string | null;
  /**
   * Whether the identity begins with the property `path`: two paths that lead to one thing through a link are one then. In the
   * namespace "path" it is nothing else. Default: no.
   */
  readonly identityBeginsWithPath?: boolean;
  /**
   * Whether the identity quotes a value that may be a secret: a sensitive resource is then named by its module and id.
   * Default: no.
   */
  identityHoldsValue?(spec: Spec): boolean;
  /** Paths that a resource makes or edits, for those that look after what nobody declares. Default: its property `path`. */
  paths?(spec: Spec): readonly string[];
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
   * later resource that misses something there does not fail the plan. Default: null, all is known.
   */
  unknownAfterApply?(spec: Spec): string | null;
  /**
   * The changes that a plan shows where `check` can't look yet, because its program or what it asks about comes with an earlier
   * resource; none = it would be in sync. Default: the plan says that the resource would change, but not in what.
   */
  assumedChanges?(spec: Spec): Change[];
  /**
   * Adds to the spec what it has to know of the paths that the resources of the run declare, its own too; all that follows,
   * `check` and `apply` too, gets what this returns. Default: the spec as it is.
   */
  withDeclaredPaths?(spec: Spec, paths: readonly string[]): Spec;
}

/** How a type acts because something that it watches changed. */
export interface ResourceTriggering<Spec = unknown> {
  /** Triggers that can be asked of it: "run" by `run_on`, "reload" by `reload_on`, "restart" by `restart_on`. */
  readonly triggers: readonly Trigger[];
  /**
   * Acts, and makes the changes that were found (none where it was in sync), so that the next check is empty. It is called in
   * the place of `apply`.
   */
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
  /**
   * Where `capture` takes its answer from. "machine" (default): asked once, before the first change. "spec": asked again
   * after each apply, so that a changed `undo` is the one that is used.
   */
  readonly capturesFrom?: "machine" | "spec";
  /**
   * Adds to what an earlier run captured, before this one changes anything: for a type whose later version may take away
   * what the first left alone. Default: what was captured first is all.
   */
  extendPrior?(prior: Prior, spec: Spec, host: Host, signal: AbortSignal): Prior | Promise<Prior>;
}

/** Files of a {@link ForeseenMachine}. */
export interface ForeseenFolders extends HostFiles {
  /** Foresees that nothing is in a folder any more. */
  clear(path: string): void;
  /** Foresees that nothing stands at a path, whatever stood there. */
  removeAll(path: string): void;
  /** Foresees a copy of a file at another path, also of one whose content nobody can know yet. */
  copyFile(from: string, to: string, options: WriteOptions): void;
}

/**
 * The machine of a plan, as it will be: what is written there is read back from there, and changes nothing real. Programs do
 * nothing and succeed, but those that are asked something.
 */
export interface ForeseenMachine extends Host {
  readonly files: ForeseenFolders;
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
