import { z } from "zod";
import { eventTable, type EventType, type OrchestratorEvent } from "../events.ts";
import { jsonSchema, keyIdSchema } from "../internal/common-schemas.ts";

const eventTypes = Object.keys(eventTable) as [EventType, ...EventType[]];
const kinds = new Set(eventTypes.map((type) => type.slice(0, type.indexOf("."))));
const isEventFilter = (text: string): boolean =>
  Object.hasOwn(eventTable, text) || (text.endsWith(".*") && kinds.has(text.slice(0, -2)));
const severities = ["info", "warning", "critical"] as const;

/** Where a stream goes on: what tRPC and the SSE header `Last-Event-ID` carry. */
export const resumeInput = {
  lastEventId: z
    .string()
    .max(200)
    .nullish()
    .describe("Id of the last item that was read; what came after it is told. Absent = from now on."),
};

/** Input of `events.stream`; every filter must hold. */
export const eventStreamInput = z.strictObject({
  types: z
    .array(z.string().refine(isEventFilter, "must be the type of an event, or all of a kind as in `agent.*`"))
    .min(1)
    .max(100)
    .optional()
    .describe("Types of events, or all of a kind as in `agent.*`. Default all."),
  node_id: keyIdSchema.optional().describe("Only what concerns this agent."),
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
export type EventStreamItem =
  { type: "event"; event: OrchestratorEvent } | { type: "position" } | { type: "reset" };
