/** Looking at resources: many in short slices, and several programs at once. */
import type { Host } from "../../host/host.ts";
import type { ResourceType } from "../resource-type.ts";
import type { Change } from "../result.ts";
import { defaultResourceTimeoutMs, withDeadline } from "./deadline.ts";
import { Slices } from "./slices.ts";
import type { StateItem } from "./state-item.ts";
import type { StateRun } from "./state-run.ts";

/** How many programs look at once. */
const maxPrograms = 8;

/** Checks every item and notes in it what differs, or why that can't be told. Ends early when the run is stopped. */
export async function examineAll(
  items: readonly StateItem[],
  run: StateRun,
  host: Host = run.host,
): Promise<void> {
  const programs = new Set<Promise<void>>();
  const slices = new Slices(run.clock);
  for (const item of items) {
    if (run.stop.aborted) break;
    const waiting = examine(item, run, host);
    if (waiting) {
      const program = waiting.finally(() => programs.delete(program));
      programs.add(program);
      if (programs.size >= maxPrograms) await Promise.race(programs);
    }
    const giving = slices.next();
    if (giving) await giving;
  }
  await Promise.all(programs);
}

/** Checks one item; a promise where that needs waiting. Never throws: the error is noted in the item. */
export function examine(item: StateItem, run: StateRun, host: Host = run.host): Promise<void> | undefined {
  if (!item.target || item.resource.skip) return undefined;
  item.checkedAt = run.changesBegun;
  const looking = look(item, run, host);
  if (looking instanceof Promise) return looking.then((seen) => note(item, seen));
  note(item, looking);
  return undefined;
}

/** What a check found, or why it could not look. */
export type Seen = Pick<StateItem, "changes" | "error">;

/** Checks one item without noting anything; a promise where that needs waiting. Never throws. */
export function look(item: StateItem, run: StateRun, host: Host): Seen | Promise<Seen> {
  const { target } = item;
  if (!target) return { changes: null, error: null };
  const { type, spec } = target;
  const limits = { clock: run.clock, timeoutMs: timeoutOf(item), signal: run.stop };
  let atOnce: Change[] | null = null;
  try {
    const looking = withDeadline(limits, (signal) => {
      const changes = type.check(spec, host, signal);
      if (!Array.isArray(changes)) return Promise.resolve(changes);
      return (atOnce = requireChanges(changes, type));
    });
    if (Array.isArray(looking)) return { changes: looking, error: null };
    return looking
      .then((changes) => requireChanges(changes, type))
      .then(
        (changes) => ({ changes, error: null }),
        (error: unknown) => ({ changes: null, error }),
      );
  } catch (error) {
    // What was looked at at once is an answer, also where the run is told to stop.
    return atOnce ? { changes: atOnce, error: null } : { changes: null, error };
  }
}

/** Refuses what is no list of changes: of a program in JavaScript, a check may answer with anything, and the run would break off by it. */
export function requireChanges(changes: unknown, { type }: Pick<ResourceType, "type">): Change[] {
  const isOne = (each: unknown): boolean =>
    typeof each === "object" && each !== null && typeof (each as Change).property === "string";
  if (Array.isArray(changes) && changes.every(isOne)) return changes as Change[];
  throw new TypeError(`The check of the type "${type}" answered with something else than a list of changes.`);
}

/** How long one try of an item may take, milliseconds. */
export function timeoutOf({ resource }: Pick<StateItem, "resource">): number {
  return resource.timeout_seconds === undefined ? defaultResourceTimeoutMs : resource.timeout_seconds * 1000;
}

function note(item: StateItem, { changes, error }: Seen): void {
  item.changes = changes;
  item.error = error;
}
