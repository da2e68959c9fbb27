/** What happened, or would happen, to one resource: the same shape for a plan, an apply and a drift check. */
import { z } from "zod";
import { jsonSchema } from "../internal/common-schemas.ts";

/** Stands for what is a secret, wherever it would be told: in a result, an output, a module as Viewers see it. */
export const hidden = "(sensitive)";

/** One property that differs. `before` and `after` are "(sensitive)" where the value is a secret. */
export const changeSchema = z.strictObject({
  property: z.string().max(200),
  before: jsonSchema,
  after: jsonSchema,
  /** Unified diff of a text property, cut at 16 KiB. */
  diff: z.string().max(20_000).optional(),
  sensitive: z.boolean().optional(),
});

/** "unknown" is said by plans alone: what is found rests on what an earlier resource brings, or nobody could be asked. */
export const outcomeSchema = z.enum(["unchanged", "changed", "would_change", "unknown", "failed", "skipped"]);
export const actionSchema = z.enum([
  "none",
  "create",
  "update",
  "remove",
  "reload",
  "restart",
  "run",
  "forget",
]);
export const skipReasonSchema = z.enum([
  "dependency",
  "condition",
  "cancelled",
  "unsupported",
  "undesired",
  "unattended",
]);

export const resourceResultSchema = z.strictObject({
  resource_id: z.string().max(300),
  module: z.string().max(64),
  type: z.string().max(64),
  /** What the resource is about on the machine, e.g. its path. */
  identity: z.string().max(4096),
  outcome: outcomeSchema,
  /** Of what is unknown: the resource that must be done first, an id of its module or `module/id` of another. */
  until: z.string().max(400).optional(),
  /** What was done or would be done; of what is unknown, what would be done as far as it can be told. */
  action: actionSchema,
  changes: z.array(changeSchema).max(1000),
  /** Resources whose change fired this one: ids of its module, and `module/id` of another. */
  caused_by: z.array(z.string().max(400)).max(2000),
  /** The earlier operation that first changed one of them; absent where this one did. */
  owed_since: z.uuid().optional(),
  skipped_because: skipReasonSchema.optional(),
  /** Error code of a failure. */
  code: z.string().max(64).optional(),
  message: z.string().max(4096).optional(),
  exit_code: z.number().int().optional(),
  /** How often it was tried; 0 where nothing was tried. */
  attempts: z.number().int().min(0).max(100),
  duration_ms: z.number().min(0),
});

export const countsSchema = z.strictObject({
  total: z.number().int().min(0),
  unchanged: z.number().int().min(0),
  changed: z.number().int().min(0),
  would_change: z.number().int().min(0),
  /** What a plan could not tell. */
  unknown: z.number().int().min(0),
  /** Those of `changed` and `would_change` whose action is "remove". */
  removed: z.number().int().min(0),
  failed: z.number().int().min(0),
  skipped: z.number().int().min(0),
});

/**
 * One property that differs.
 *
 * @useDeclaredType
 */
export type Change = z.infer<typeof changeSchema>;
/**
 * What is done to a resource; "none" where nothing is.
 *
 * @useDeclaredType
 */
export type Action = z.infer<typeof actionSchema>;
/**
 * What happened, or would happen, to one resource.
 *
 * @useDeclaredType
 */
export type ResourceResult = z.infer<typeof resourceResultSchema>;
/**
 * How many resources ended how.
 *
 * @useDeclaredType
 */
export type Counts = z.infer<typeof countsSchema>;

/** Counts as they are stored: those of earlier versions say nothing of what is unknown, since nothing was. */
export type StoredCounts = Omit<Counts, "unknown"> & { unknown?: number };

/** Stored counts, with what earlier versions left out. */
export function toCounts(stored: Readonly<StoredCounts>): Counts {
  return { ...stored, unknown: stored.unknown ?? 0 };
}

/** Counts the outcomes of a run. */
export function countOutcomes(results: Iterable<ResourceResult>): Counts {
  const counts: Counts = {
    total: 0,
    unchanged: 0,
    changed: 0,
    would_change: 0,
    unknown: 0,
    removed: 0,
    failed: 0,
    skipped: 0,
  };
  for (const result of results) {
    counts.total += 1;
    counts[result.outcome] += 1;
    const removes =
      result.action === "remove" && (result.outcome === "changed" || result.outcome === "would_change");
    if (removes) counts.removed += 1;
  }
  return counts;
}
