/** A resource as it travels to an agent: resolved, so that the agent evaluates nothing. */
import { z } from "zod";
import { jsonSchema } from "../internal/common-schemas.ts";

export const retrySchema = z.strictObject({
  attempts: z.number().int().min(1).max(100),
  delay_seconds: z.number().min(0).max(3600),
});

/** A resource with every template and condition resolved. */
export const resolvedResourceSchema = z.strictObject({
  /** Unique within its module. */
  resource_id: z.string().min(1).max(300),
  module: z.string().min(1).max(64),
  type: z.string().min(1).max(64),
  /** What it is about on the machine; two resources with one type and identity are the same thing. */
  identity: z.string().min(1).max(4096),
  /** The properties of its type, validated by the type's own schema on both sides. */
  spec: z.record(z.string().max(100), jsonSchema),
  /** Resources of the same module that must have succeeded before. */
  requires: z.array(z.string().max(300)).max(2000),
  /** Resources of the same module whose change makes this one run; implies order. */
  run_on: z.array(z.string().max(300)).max(2000),
  /** Resources of the same module whose change makes this one reload; implies order. Absent = none. */
  reload_on: z.array(z.string().max(300)).max(2000).optional(),
  /** Resources of the same module whose change makes this one restart; implies order. Absent = none. */
  restart_on: z.array(z.string().max(300)).max(2000).optional(),
  timeout_seconds: z.number().positive().max(86_400).optional(),
  retry: retrySchema.optional(),
  /** Modules of the run that must have been done before, and those that these require. Absent = none. */
  requires_modules: z.array(z.string().max(64)).max(10_000).optional(),
  /** What a failure ends: the run ("stop_all"), its module ("stop"), or only what depends on it ("continue"). */
  on_failure: z.enum(["stop_all", "stop", "continue"]),
  /** Set where it is left as it is when it is not desired any more; absent = what stood before comes back. */
  removal: z.literal("keep").optional(),
  /** Properties whose difference a drift check leaves out. */
  ignore_drift: z.array(z.string().max(100)).max(100),
  /** Whether its values are hidden in every result, log and error. */
  sensitive: z.boolean(),
  /** Why it is skipped without being looked at: its condition does not hold on this agent. */
  skip: z.literal("condition").optional(),
});

export type ResolvedResource = z.infer<typeof resolvedResourceSchema>;

/** Names one resource among all modules of a run. */
export function resourceKey(resource: { module: string; resource_id: string }): string {
  return `${resource.module}/${resource.resource_id}`;
}

/** What stays while others are taken away: what the run declares, and what modules that it is not about were applied with. */
export interface StayingThings {
  /**
   * The paths at a path and below it that it makes or edits, as they are called from there; `~NAME` begins one in the home of an account.
   * "later": also those that the run makes when the removals are done. "declared": also those that are to be absent. "modes": those whose
   * mode it says. Default "now".
   */
  pathsIn(path: string, when?: "now" | "later" | "declared" | "modes"): readonly string[];
  /** Whether a type has a thing of this identity. */
  has(type: string, identity: string): boolean;
}
