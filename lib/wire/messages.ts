/**
 * The messages of the agent protocol after both sides are proved. Every string is bounded: an approved agent is still
 * hostile input. Unknown types and unknown fields break the protocol.
 */
import { z } from "zod";
import { jsonSchema } from "../internal/common-schemas.ts";
import { sealedSecretsSchema } from "../secret-format/sealed-secrets.ts";
import { resolvedResourceSchema } from "../state/resource.ts";
import { resourceResultSchema } from "../state/result.ts";
import { agentStatusSchema } from "./handshake-messages.ts";

const uuid = z.uuid();
const timestamp = z.iso.datetime();
const byteCount = z.number().int().min(0).max(Number.MAX_SAFE_INTEGER);
const errorCode = z.string().regex(/^[A-Z][A-Z0-9_]{1,63}$/);

export const peerErrorSchema = z.strictObject({
  code: errorCode,
  message: z.string().max(4096),
  details: z.record(z.string().max(100), jsonSchema).optional(),
});

/** Captured output of one stream of one resource. */
export const outputSchema = z.strictObject({
  module: z.string().max(64),
  resource_id: z.string().max(300),
  stream: z.enum(["stdout", "stderr"]),
  text: z.string().max(300_000),
  truncated: z.boolean(),
});

/** Attribute values are flat: dotted key -> scalar. */
export const attributesSchema = z.record(
  z.string().regex(/^[a-z][A-Za-z0-9_.-]{0,99}$/),
  z.union([z.string().max(1024), z.number(), z.boolean()]),
);

// Orchestrator to agent. Each is signed by the orchestrator for one agent; see signed-command.ts.
const command = { id: uuid, not_after: timestamp };
const run = {
  ...command,
  operation_id: uuid,
  resources: z.array(resolvedResourceSchema).max(10_000),
  /** Why some of them are skipped, for people, by `module/id`. Absent = nobody says. */
  skip_reasons: z.record(z.string().max(400), z.string().max(4096)).optional(),
  timeout_seconds: z.number().positive().max(86_400),
  /** What stands for placeholders in the resources, for this agent alone. Absent = they hold none. */
  secrets: sealedSecretsSchema.optional(),
};
const scope = z.array(z.string().min(1).max(64)).max(10_000).optional();

export const orchestratorMessageSchema = z.discriminatedUnion("type", [
  /** Makes the machine match `resources`, and takes away what was applied before and is not among them. */
  z.strictObject({
    type: z.literal("apply"),
    ...run,
    /** Modules that it is about: what others brought stays as it was applied. Absent = all. */
    scope,
    allow_empty: z.boolean(),
    /** Leaves what is not desired any more as it is. Absent = false. */
    hold_removals: z.literal(true).optional(),
    /** How many things it may remove; where it would remove more it is refused with `TOO_MANY_REMOVALS`. Absent = any number. */
    max_removals: z.number().int().min(0).max(20_000).optional(),
    /** SHA-256 of what a plan said, hex: the apply is refused with `PLAN_STALE` where a plan made now would say anything else. */
    plan_digest: z
      .string()
      .regex(/^[0-9a-f]{64}$/)
      .optional(),
  }),
  /** Tells what an apply of the same would do. */
  z.strictObject({ type: z.literal("plan"), ...run, scope }),
  /** Compares the machine with `resources`; nothing is removed or planned to be. */
  z.strictObject({ type: z.literal("check"), ...run }),
  /** Runs `resources`, one script, whatever it has done before; nothing of it is kept as applied. */
  z.strictObject({ type: z.literal("run"), ...run }),
  /** Drops ownership of what was applied, by `module/id`, or by module for all that it brought. Touches nothing else on the machine. */
  z.strictObject({
    type: z.literal("forget"),
    ...command,
    operation_id: uuid,
    names: z.array(z.string().min(1).max(400)).min(1).max(1000),
  }),
  /** Stops an operation: a script that runs is ended, any other change in progress finished. */
  z.strictObject({ type: z.literal("cancel"), ...command, operation_id: uuid }),
  /** The result of an operation is on disk here; the agent may forget it. */
  z.strictObject({ type: z.literal("ack"), ...command, operation_id: uuid }),
  /** The agent was approved or rejected while it was connected. The only message that a pending agent gets. */
  z.strictObject({ type: z.literal("status"), ...command, status: agentStatusSchema }),
  z.strictObject({ type: z.literal("attributes.refresh"), ...command }),
  z.strictObject({
    type: z.literal("config"),
    ...command,
    metrics_interval_seconds: z.number().int().min(1).max(3600),
  }),
  /**
   * Samples up to this time are on disk here, or will never be taken; the agent may forget them. Only an agent that sends samples hears of
   * it, so one that does not know it is never told.
   */
  z.strictObject({ type: z.literal("metrics.ack"), ...command, through: timestamp }),
  z.strictObject({
    type: z.literal("terminal.open"),
    ...command,
    session_id: uuid,
    cols: z.number().int().min(1).max(1000),
    rows: z.number().int().min(1).max(1000),
    shell: z.string().max(4096).optional(),
    operator: z.string().max(64),
  }),
  z.strictObject({
    type: z.literal("terminal.resize"),
    ...command,
    session_id: uuid,
    cols: z.number().int().min(1).max(1000),
    rows: z.number().int().min(1).max(1000),
  }),
  /** Hangs up, and ends 2.5 seconds later what does not heed it; told again, at once. */
  z.strictObject({ type: z.literal("terminal.close"), ...command, session_id: uuid }),
  /** How many bytes of a terminal's output the agent may send in all, since it was opened. Rises; starts at 0. */
  z.strictObject({ type: z.literal("terminal.grant"), ...command, session_id: uuid, through: byteCount }),
]);

// Agent to orchestrator. Identity is the connection's: no message carries a node_id.
export const agentMessageSchema = z.discriminatedUnion("type", [
  /** The answer to one command: taken, or refused with an error. */
  z.strictObject({ type: z.literal("reply"), id: uuid, error: peerErrorSchema.optional() }),
  /** Resources that are done, while the operation runs; may be lost. */
  z.strictObject({
    type: z.literal("progress"),
    operation_id: uuid,
    results: z.array(resourceResultSchema).max(1000),
  }),
  /** Output as it comes, while the operation runs; may be lost. */
  z.strictObject({ type: z.literal("output"), operation_id: uuid, output: z.array(outputSchema).max(100) }),
  /** How an operation ended. Sent again until it is acknowledged. */
  z.strictObject({
    type: z.literal("result"),
    operation_id: uuid,
    status: z.enum(["succeeded", "failed", "partial", "cancelled", "timed_out", "interrupted"]),
    results: z.array(resourceResultSchema).max(20_000),
    output: z.array(outputSchema).max(4000),
    started_at: timestamp,
    finished_at: timestamp,
    duration_ms: z.number().min(0),
    error: peerErrorSchema.optional(),
  }),
  z.strictObject({ type: z.literal("attributes"), attributes: attributesSchema, collected_at: timestamp }),
  z.strictObject({
    type: z.literal("metrics"),
    samples: z
      .array(
        z.strictObject({
          at: timestamp,
          values: z.record(z.string().max(200), z.number()),
        }),
      )
      .max(1000),
    /** Samples before these were dropped: they were too old, or too many. */
    gap: z.boolean(),
  }),
  z.strictObject({
    type: z.literal("terminal.closed"),
    session_id: uuid,
    reason: z.string().max(200),
    exit_code: z.number().int().optional(),
  }),
  /** How many bytes of what was typed a terminal has taken in all: so much of it no longer waits. */
  z.strictObject({ type: z.literal("terminal.taken"), session_id: uuid, through: byteCount }),
  z.strictObject({
    type: z.literal("log"),
    level: z.enum(["info", "warn", "error"]),
    message: z.string().max(4096),
  }),
]);

/**
 * What the orchestrator says to an approved agent; `status` also to one that waits. A session signs each.
 *
 * @useDeclaredType
 */
export type OrchestratorMessage = z.infer<typeof orchestratorMessageSchema>;
/**
 * What an approved agent says: valid in form, and not to be trusted.
 *
 * @useDeclaredType
 */
export type AgentMessage = z.infer<typeof agentMessageSchema>;
/**
 * An error as it travels: a code that the receiver may not know, and a sentence for people.
 *
 * @useDeclaredType
 */
export type PeerError = z.infer<typeof peerErrorSchema>;
/**
 * Captured output of one stream of one resource.
 *
 * @useDeclaredType
 */
export type OperationOutput = z.infer<typeof outputSchema>;
/**
 * What an agent says of its machine: dotted name to value.
 *
 * @useDeclaredType
 */
export type Attributes = z.infer<typeof attributesSchema>;
/** The part of a message of one type. */
export type MessageOf<Message, Type> = Extract<Message, { type: Type }>;
