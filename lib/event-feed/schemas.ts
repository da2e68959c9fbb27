import { z } from "zod";
import { isEventPattern, mismatch, type EventPattern } from "../event-pattern.ts";
import { eventTable, severities, type EventType, type OrchestratorEvent } from "../events.ts";
import { idSchema, jsonSchema, keyIdSchema } from "../internal/common-schemas.ts";

const eventTypes = Object.keys(eventTable) as [EventType, ...EventType[]];

/** Where a stream goes on: what tRPC and the SSE header `Last-Event-ID` carry. */
export const resumeInput = {
  lastEventId: z
    .string()
    .max(200)
    .nullish()
    .describe("Id of the last item that was read; what came after it is told. Absent = from now on."),
};

/** A text to its description; the refinement is what makes it a pattern. */
const patternSchema = z.string().refine(isEventPattern, mismatch) as unknown as z.ZodType<
  EventPattern,
  EventPattern
>;

/** Input of `events.stream`; every filter must hold. */
export const eventStreamInput = z.strictObject({
  types: z
    .array(patternSchema)
    .min(1)
    .max(100)
    .optional()
    .describe("Types of events, or all of a kind as in `agent.*`. Default all."),
  node_id: keyIdSchema.optional().describe("Only what concerns this agent."),
  rollout_id: idSchema.optional().describe("Only what concerns this rollout, its operations included."),
  ...resumeInput,
});

const subjectSchema = z.object({ type: z.string(), id: z.string(), name: z.string() });

/** An event as streams tell it. */
export const eventSchema = z
  .object({
    id: z.uuid(),
    timestamp: z.string(),
    event_type: z.enum(eventTypes),
    severity: z.enum(severities),
    actor: subjectSchema,
    target: subjectSchema.optional(),
    summary: z.string(),
    metadata: z.record(z.string(), jsonSchema),
    request_id: z.string().optional(),
    source_address: z.string().optional(),
  })
  .meta({ id: "Event" });

/** One item of `events.stream`. */
export const eventStreamItemSchema = z
  .discriminatedUnion("type", [
    z.object({ type: z.literal("event"), event: eventSchema }),
    z.object({ type: z.literal("position") }).describe("From here on nothing is missed."),
    z.object({ type: z.literal("reset") }).describe("Something was missed: read again what you show."),
  ])
  .meta({ id: "EventStreamItem" });

/** One item of `events.stream`: an event, or word about the stream itself. */
export type EventStreamItem<Type extends EventType = EventType> =
  { type: "event"; event: OrchestratorEvent<Type> } | { type: "position" } | { type: "reset" };
