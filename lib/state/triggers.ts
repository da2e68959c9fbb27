/** What a resource watches: ids of its module whose change makes it act. Each trigger implies order. */

/** How a resource may be made to act, the mildest first; where several would fire, the last of them does. */
export const triggers = ["run", "reload", "restart"] as const;

/**
 * A way in which a resource acts because something that it watches changed.
 *
 * @useDeclaredType
 */
export type Trigger = (typeof triggers)[number];

/** The property of a resource that lists what fires a trigger. */
export const triggerProperties = { run: "run_on", reload: "reload_on", restart: "restart_on" } as const;

/** Ids that a resource watches, by trigger; absent = none. */
export interface Watches {
  readonly run_on?: readonly string[] | undefined;
  readonly reload_on?: readonly string[] | undefined;
  readonly restart_on?: readonly string[] | undefined;
}

const none: readonly string[] = [];

/** A trigger that fires, and because of whom. */
export interface Firing {
  trigger: Trigger;
  /** What changed: ids of its module, and `module/id` of another. */
  causes: string[];
  /** The earlier operation that was the first to change one of them; null = the running one. */
  owedSince: string | null;
  /** Set where the caller of the run has to fire it, behind all else: it ends the agent. */
  isLeft?: true;
}

/** Whether a resource watches anything. */
export function watchesAny(resource: Watches): boolean {
  const { run_on = none, reload_on = none, restart_on = none } = resource;
  return run_on.length > 0 || reload_on.length > 0 || restart_on.length > 0;
}

/** Every id that a resource watches, whatever the trigger. */
export function watchedIds({ run_on = none, reload_on = none, restart_on = none }: Watches): string[] {
  return [...run_on, ...reload_on, ...restart_on];
}
