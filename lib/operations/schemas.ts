import { z } from "zod";
import { appliedStatusSchema } from "../agents/schemas.ts";
import {
  idPrefixSchema,
  idSchema,
  keyIdSchema,
  maxRemovalsSchema,
  nameSchema,
  overrideWindowSchema,
  pageInput,
  pageOf,
  timestampSchema,
  waitInput,
} from "../internal/common-schemas.ts";
import { moduleReferencesSchema } from "../module-format/module-reference.ts";
import { paramValuesSchema } from "../modules/schemas.ts";
import { countsSchema, resourceResultSchema } from "../state/result.ts";

/** What an operation does. */
export const operationKindSchema = z.enum(["apply", "plan", "forget", "run"]);

/** How an operation stands or ended. */
export const operationStatusSchema = z.enum(["queued", "running", ...appliedStatusSchema.options]);

/** The maintenance window that holds an operation. */
export const heldBySchema = z.object({
  window_id: idSchema,
  until: z.string().describe("When it ends as things stand."),
});

/** An operation as lists show it. */
export const operationSchema = z
  .object({
    operation_id: idSchema,
    kind: operationKindSchema,
    node_id: keyIdSchema,
    agent_name: z.string(),
    status: operationStatusSchema,
    held_by: heldBySchema
      .optional()
      .describe("What keeps one that is queued from beginning: a maintenance window with the mode `freeze`."),
    override_window: z
      .boolean()
      .optional()
      .describe("Whether it begins in spite of maintenance windows, as an Admin wanted it."),
    rollout_id: z.string().optional(),
    assignment: z.string().optional(),
    scope: z
      .array(z.string())
      .optional()
      .describe(
        "The modules that it is about, those that it takes away among them; absent = all that the machine has.",
      ),
    plan_id: z.string().optional().describe("The plan that this apply carries out."),
    modules: z.array(z.object({ name: z.string(), revision: z.number().int() })),
    command: z
      .string()
      .optional()
      .describe("Of a run: the beginning of what it runs, at most 500 characters."),
    exit_code: z
      .number()
      .int()
      .optional()
      .describe("Of a run: what the command exited with; absent where it did not."),
    counts: countsSchema,
    requested_by: z.string(),
    created_at: z.string(),
    started_at: z.string().optional(),
    finished_at: z.string().optional(),
    duration_ms: z.number().optional(),
    error: z.object({ code: z.string(), message: z.string() }).optional(),
  })
  .meta({ id: "Operation" });

/** Output of `operations.get`. */
export const operationDetailSchema = operationSchema
  .extend({ resources: z.array(resourceResultSchema.meta({ id: "ResourceResult" })) })
  .meta({ id: "OperationDetail" });

/** Output of `operations.list` and `operations.listForAgent`. */
export const operationPageSchema = pageOf(operationSchema);
/** Names one operation. */
export const operationIdInput = z.strictObject({ operation_id: idSchema });
/** Names one operation of one agent. */
export const operationOfAgentInput = z.strictObject({ node_id: keyIdSchema, operation_id: idSchema });

const operationFilters = {
  kind: operationKindSchema.optional(),
  status: operationStatusSchema.optional(),
  assignment: nameSchema.optional(),
  rollout_id: idSchema.optional(),
  from: timestampSchema.optional().describe("Created at or after."),
  to: timestampSchema.optional().describe("Created before."),
  ...pageInput,
};
/** Input of `operations.list`; every filter must hold. */
export const listOperationsInput = z.strictObject({
  node_id: keyIdSchema.optional(),
  id_prefix: idPrefixSchema,
  ...operationFilters,
});
/** Input of `operations.listForAgent`; every filter must hold. */
export const listAgentOperationsInput = z.strictObject({ node_id: keyIdSchema, ...operationFilters });

const runInput = {
  node_id: keyIdSchema,
  modules: moduleReferencesSchema
    .optional()
    .describe(
      "These modules alone, as `web` or `web@3`. They stay wanted on the agent until `remove_modules` or `forget` says otherwise. Default everything that is desired of the agent.",
    ),
  remove_modules: z
    .array(nameSchema)
    .max(100)
    .optional()
    .describe("Modules that the agent has and is not to have any more: what they brought is removed."),
  params: paramValuesSchema.optional(),
  timeout_seconds: z
    .number()
    .int()
    .min(1)
    .max(86_400)
    .optional()
    .describe("How long it may run. Default 300."),
  when_offline: z
    .enum(["fail", "queue"])
    .optional()
    .describe("Whether an agent that is away fails the call or is waited for. Default fail."),
  expires_in_seconds: z
    .number()
    .int()
    .min(1)
    .max(2_592_000)
    .optional()
    .describe("How long it stays queued. Default 3,600."),
  ...waitInput,
};
/** Input of `operations.plan`. */
export const planInput = z.strictObject(runInput);
/** Input of `operations.apply`. */
export const applyInput = z.strictObject({
  ...runInput,
  plan_id: idSchema
    .optional()
    .describe(
      "A plan of this agent: exactly that is applied, or `PLAN_STALE` is answered. Not beside modules, remove_modules and params.",
    ),
  allow_empty: z
    .boolean()
    .optional()
    .describe("Whether everything that was applied may be removed. Default false."),
  max_removals: maxRemovalsSchema.optional(),
  override_window: overrideWindowSchema.optional(),
});

/** Input of `operations.forget`. */
export const forgetInput = z.strictObject({
  node_id: keyIdSchema,
  resources: z
    .array(
      z
        .string()
        .max(400)
        .regex(/^[a-z0-9][a-z0-9._-]{0,63}(\/.{1,300})?$/, "module/id of a resource, or a module"),
    )
    .min(1)
    .max(1000)
    .describe("Resources as `module/id`, or modules for all that they brought."),
  ...waitInput,
});

/** Output of `operations.output`. */
export const outputListSchema = z.object({
  operation_id: idSchema,
  truncated: z.boolean(),
  output: z.array(
    z.object({
      module: z.string(),
      resource_id: z.string(),
      stream: z.enum(["stdout", "stderr"]),
      text: z.string(),
      truncated: z.boolean(),
    }),
  ),
});

const outputPartSchema = outputListSchema.shape.output.element;
/** Input of `operations.watch`. */
export const watchOperationInput = operationIdInput.extend({
  lastEventId: z
    .string()
    .max(200)
    .nullish()
    .describe("What tRPC and browsers send when they come back. All of it is told again, whatever it says."),
});
/** One item of `operations.watch`. */
export const operationWatchItemSchema = z
  .discriminatedUnion("type", [
    z.object({ type: z.literal("operation"), operation: operationSchema }).describe("How it stands now."),
    z.object({
      type: z.literal("resources"),
      resources: operationDetailSchema.shape.resources.describe("Each is told once."),
    }),
    z.object({
      type: z.literal("output"),
      replaces: z
        .boolean()
        .describe("Whether it is the whole output of its streams, a part of which was missed."),
      output: z.array(outputPartSchema),
    }),
    z.object({ type: z.literal("ended"), operation: operationSchema }).describe("Nothing comes after it."),
  ])
  .meta({ id: "OperationWatchItem" });

const believedResourceSchema = z.object({
  module: z.string(),
  resource_id: z.string(),
  type: z.string(),
  identity: z.string(),
});
const believedModuleSchema = z.object({
  name: z.string().describe("Name of the module."),
  revision_applied: z
    .number()
    .int()
    .optional()
    .describe("The revision that was last put in place as a whole; absent = none was."),
  assignments: z
    .array(z.string())
    .describe("The assignments that brought it with the newest apply about it."),
  named: z
    .object({
      revision: z
        .number()
        .int()
        .optional()
        .describe("The revision that the call pinned; absent = as assignments say, or the newest."),
      params: z
        .array(z.string())
        .optional()
        .describe("Names of the params that the call gave; their values are not told."),
    })
    .optional()
    .describe("What a call named: it stays wanted on this agent. Absent = no call named the module."),
  leaving: z
    .literal(true)
    .optional()
    .describe("Set where it was to be taken away, and some of it is still there."),
});
/** Output of `operations.believed`. */
export const believedStateSchema = z
  .object({
    node_id: keyIdSchema,
    as_of: z.string().nullable().describe("When the newest apply ended; null where there was none."),
    operation_id: z.string().optional(),
    applied: z.array(believedResourceSchema),
    pending_removals: z
      .array(believedResourceSchema)
      .describe("Applied, but no longer desired: the next apply removes them."),
    unapplied: z.array(believedResourceSchema).describe("Desired, but not applied."),
    modules: z
      .array(believedModuleSchema)
      .describe("Each module that the agent has, or is to have by a call, by name."),
    error: z
      .object({ code: z.string(), message: z.string() })
      .optional()
      .describe(
        "Why it can't be worked out what is desired; `pending_removals` and `unapplied` are empty then.",
      ),
  })
  .meta({ id: "BelievedState" });

/** What an operation does. */
export type OperationKind = z.infer<typeof operationKindSchema>;
/** How an operation stands or ended. */
export type OperationStatus = z.infer<typeof operationStatusSchema>;
/** A plan or an apply of one machine. */
export type Operation = z.infer<typeof operationSchema>;
/** An operation with the result of each resource. */
export type OperationDetail = z.infer<typeof operationDetailSchema>;
/** What the scripts of an operation printed. */
export type OperationOutputList = z.infer<typeof outputListSchema>;
/** One item of the stream of an operation that is watched. */
export type OperationWatchItem = z.infer<typeof operationWatchItemSchema>;
/** What is believed of a machine. */
export type BelievedState = z.infer<typeof believedStateSchema>;
/**
 * A resource as the believed state names it.
 *
 * @useDeclaredType
 */
export type BelievedResource = z.infer<typeof believedResourceSchema>;
