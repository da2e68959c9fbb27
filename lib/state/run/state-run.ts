/** What the parts of the engine share while a run lasts. */
import type { Clock } from "../../clock.ts";
import type { Host } from "../../host/host.ts";
import type { Logger } from "../../logger.ts";
import type { OwedTrigger, Watching } from "../owed.ts";
import type { ResourceTypes } from "../resource-type.ts";
import type { ResolvedResource } from "../resource.ts";
import type { Action, ResourceResult } from "../result.ts";
import type { AppliedResource, CapturedResource } from "./applied-resource.ts";
import type { Scope } from "./claims.ts";
import type { Identities } from "./identities.ts";
import type { Reveal } from "./prepared.ts";
import type { Watchers } from "./watchers.ts";

/**
 * What a run is for. "apply" makes the machine match; "plan" tells what that would do; "check" compares what is desired,
 * each resource by itself: no removals, no triggers, no ignored properties.
 */
export type RunMode = "apply" | "plan" | "check";

/** A piece of what a program of a resource wrote, as it comes. */
export interface ResourceOutput {
  module: string;
  resource_id: string;
  stream: "stdout" | "stderr";
  bytes: Uint8Array;
}

/** What a run is given. */
export interface StateRunOptions {
  mode: RunMode;
  /** All that is desired, module after module in their order. */
  desired: readonly ResolvedResource[];
  /** Modules that this is about: what others brought stays as it was applied, and is only checked for conflicts. Default: all. */
  scope?: readonly string[];
  /** What earlier runs on this machine applied, as the last one returned it. */
  applied: readonly AppliedResource[];
  /** Triggers that earlier runs on this machine left owed, as the last one returned them. Default: none. */
  owed?: readonly OwedTrigger[];
  /** Names this run in what comes to be owed. Default: the nil UUID. */
  operationId?: string;
  host: Host;
  clock: Clock;
  /** Aborting cancels: the change in progress is finished, the rest is skipped. */
  signal: AbortSignal;
  /** Aborting cancels and cuts the change in progress. */
  cut?: AbortSignal;
  /** For the whole run, milliseconds. After it the change in progress is cut and the rest is skipped. */
  timeoutMs: number;
  /** Types to know. Default: all that ship with the package. */
  types?: ResourceTypes;
  /** Why resources are skipped by their condition, for people, by `module/id`. Default: nobody says. */
  skipReasons?: Readonly<Record<string, string>>;
  /** Leaves what is not desired any more as it is, for another run to remove it, and says so. Default false. */
  holdRemovals?: boolean;
  /** Puts secrets into the properties of what is desired, where they are worked with; what is noted stays as it was given. */
  reveal?: Reveal;
  /** Gets the cause of every `INTERNAL` failure. Default: nowhere. */
  logger?: Logger;
  /** Called with each result as it is known, in the order of the results. */
  onResult?: (result: ResourceResult) => void;
  /**
   * Called in an apply with what it would do, as a plan tells it, before anything is changed. What it throws ends the run,
   * and nothing has been changed then. What it returns is asked before each change.
   */
  confirm?: (foreseen: readonly ResourceResult[]) => ChangeGuard | void;
  /** Called with what programs write while changes are made; never for a sensitive resource. */
  onOutput?: (output: ResourceOutput) => void;
  /**
   * Called before a thing is changed for the first time, with what to come back to; what stands on disk when it resolves
   * can be undone after a crash. Once before the first change, and again for what turns out to differ only later, or to
   * stand otherwise by then: what is handed over last counts. With it comes who watches what is about to be changed, each once:
   * whose trigger is owed as soon as such a change has begun.
   */
  beforeChanges?: (captured: readonly CapturedResource[], watching: readonly Watching[]) => Promise<void>;
  /**
   * Called right before each change, with what has to be noted so that a crash can tell what was begun from what was only
   * meant. Where it throws nothing is changed, and the resource fails.
   */
  onBegun?: (change: BegunChange) => void;
  /** Called with the identity of what was begun and failed, where the machine shows that nothing was changed. */
  onUntouched?: (identity: string) => void;
}

/** Asked before each change what it is called; where it throws that is not made, and the resource fails. */
export type ChangeGuard = (resource: ResolvedResource, action: Action) => void;

/** A change that is about to be made. */
export interface BegunChange {
  /** What it is about, across types. */
  identity: string;
  /** The same as the resource spells it, where a link on the way makes that another: absent = the same. */
  spelled?: string;
  /** Whether it is taken away. */
  removal: boolean;
  /** What is wanted there now, where what to come back to was handed over by an earlier run. */
  resource?: ResolvedResource;
}

/** A run while it lasts. */
export interface StateRun extends Omit<StateRunOptions, "applied" | "scope"> {
  readonly scope: Scope;
  readonly owed: readonly OwedTrigger[];
  readonly operationId: string;
  readonly watchers: Watchers;
  /** What is applied, by identity, in the order in which it was first applied. */
  readonly applied: ReadonlyMap<string, AppliedResource>;
  readonly types: ResourceTypes;
  readonly identities: Identities;
  /** Aborted by cancelling and by the time limit. */
  readonly stop: AbortSignal;
  /** Aborted by the time limit and by `cut`: what cuts a change in progress. */
  readonly deadline: AbortSignal;
  /** Who may refuse a change, once what would be done was confirmed. */
  guard?: ChangeGuard;
  /** How many changes were begun: what was checked before the last of them may be different now. */
  changesBegun: number;
}
