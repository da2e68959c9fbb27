/** Carries out what a plan of a fleet folder says, call by call, each on the version that the plan saw. */
import type { FolderKind, FolderPlan, FolderStep } from "fleetwright";
import { ApiError } from "../client/api-error.ts";
import type { Client } from "../client/client.ts";
import type { CallOptions } from "../client/http.ts";
import { callsOf } from "./kind-calls.ts";

/** How it is carried out. */
export interface ApplyOptions {
  /** Whether what the folder does not have any more is removed. */
  prune: boolean;
  /** Told of each step that was made, at once. */
  onDone(step: FolderStep): void;
  /** Ends it before the next step: one that was begun is finished, or what it replaces would be gone. */
  signal?: AbortSignal;
}

/** What came of it. */
export interface Applied {
  done: FolderStep[];
  /** The step that failed and why; null where none did, also where it was stopped. What comes after it was not begun. */
  failed: { step: FolderStep; error: unknown } | null;
  /** Not begun, or refused and waiting for others. */
  left: FolderStep[];
  /** Of those that failed or are left: what was there is gone, and what is to come in its place is not there. */
  half: FolderStep[];
}

/**
 * Makes a server as a fleet folder says. What is refused because of what another step is to change waits for the others, and is tried
 * again for as long as one of them is made. Else it ends with the first step that fails: all before it stays made, and another plan finds
 * the rest. Never rejects for what a server refuses.
 */
export async function applyPlan(client: Client, plan: FolderPlan, options: ApplyOptions): Promise<Applied> {
  const applier = new Applier(client, options);
  const steps = [...plan.steps, ...(options.prune ? plan.removals : [])];
  for (let open = steps; open.length > 0;) open = await applier.pass(open);
  return applier.applied;
}

/** A step that waits, and what it was refused with first. */
interface Waiting {
  step: FolderStep;
  error: unknown;
}

class Applier {
  readonly #client: Client;
  readonly #options: ApplyOptions;
  readonly #done: FolderStep[] = [];
  /** Whose old one is gone, and whose new one is not there yet. */
  readonly #half = new Set<FolderStep>();
  #failed: Applied["failed"] = null;
  #left: FolderStep[] = [];

  constructor(client: Client, options: ApplyOptions) {
    this.#client = client;
    this.#options = options;
  }

  get applied(): Applied {
    return { done: this.#done, failed: this.#failed, left: this.#left, half: [...this.#half] };
  }

  /** Tries each step once. Resolves with what is still to be tried; with nothing where all is made, or where it ends. */
  async pass(open: readonly FolderStep[]): Promise<FolderStep[]> {
    const waiting: Waiting[] = [];
    const later: FolderStep[] = [];
    let hasMoved = false;
    for (const [at, step] of open.entries()) {
      if (this.#options.signal?.aborted === true)
        return this.#end(null, [...waiting.map((each) => each.step), ...later, ...open.slice(at)]);
      const first = waiting[0]?.step;
      if (first && !canMakeRoom(step, first)) {
        later.push(step);
        continue;
      }
      try {
        await this.#make(step);
        hasMoved ||= first !== undefined;
      } catch (error) {
        if (!mayWait(step, error, first)) {
          const left = [...waiting.map((each) => each.step), ...later, ...open.slice(at + 1)];
          return this.#end({ step, error }, left);
        }
        waiting.push({ step, error });
      }
    }
    const rest = [...waiting.map(({ step }) => step), ...later];
    return waiting.length > 0 && !hasMoved ? this.#end(waiting[0]!, rest.slice(1)) : rest;
  }

  #end(failed: Waiting | null, left: FolderStep[]): [] {
    this.#failed = failed;
    this.#left = left;
    return [];
  }

  async #make(step: FolderStep): Promise<void> {
    const calls = callsOf(this.#client, step.kind);
    const options: CallOptions = step.version === null ? {} : { ifVersion: step.version };
    if (step.action === "replace") {
      if (!this.#half.has(step)) await calls.remove(step, options);
      this.#half.add(step);
      await calls.create(step);
      this.#half.delete(step);
    } else await calls[step.action](step, options);
    this.#done.push(step);
    this.#options.onDone(step);
  }
}

/** Kinds whose steps stand in each other's way. */
const rooms: readonly (readonly FolderKind[])[] = [["modules", "assignments"], ["thresholds"], ["operators"]];

function canMakeRoom(step: FolderStep, waiting: FolderStep): boolean {
  return roomOf(step) === roomOf(waiting);
}

function roomOf({ kind }: FolderStep): number {
  return rooms.findIndex((kinds) => kinds.includes(kind));
}

/** What is refused because of something that another step may change: of modules and assignments, keys of operators, too many thresholds. */
const passing: Partial<Readonly<Record<FolderKind, readonly string[]>>> = {
  modules: ["RESOURCE_CONFLICT", "IN_USE"],
  assignments: ["RESOURCE_CONFLICT"],
  thresholds: ["VALIDATION_FAILED"],
  operators: ["ALREADY_EXISTS"],
};

/** What is refused because of what waits itself: a revision, a param or a module that is still to come. */
const following = ["NOT_FOUND", "VALIDATION_FAILED", "TEMPLATE_FAILED", "MODULE_INVALID"];

function mayWait(step: FolderStep, error: unknown, first: FolderStep | undefined): boolean {
  const codes = passing[step.kind];
  if (!codes || !(error instanceof ApiError)) return false;
  return codes.includes(error.code) || (first !== undefined && following.includes(error.code));
}
