/** Which events somebody wants: by type, or all of a kind. */
import { OrchestratorError } from "./errors.ts";
import { eventTable, type EventListener, type EventType } from "./events.ts";

/** The first part of the type of an event, such as `agent` of `agent.approved`. */
export type EventKind<Type extends string> = Type extends `${infer Kind}.${string}` ? Kind : never;

/** The type of an event, or all of a kind as in `agent.*`. */
export type EventPattern = EventType | `${EventKind<EventType>}.*`;

/** The types of the events that a pattern lets pass. */
export type MatchedType<Pattern extends EventPattern> = Pattern extends EventType
  ? Pattern
  : Pattern extends `${infer Kind}.*`
    ? Extract<EventType, `${Kind}.${string}`>
    : never;

const kinds = new Set(Object.keys(eventTable).map(kindOf));

/** Whether events of this type, or of this kind, exist. */
export function isEventPattern(text: unknown): text is EventPattern {
  if (typeof text !== "string") return false;
  return Object.hasOwn(eventTable, text) || (text.endsWith(".*") && kinds.has(text.slice(0, -2)));
}

/** Makes what tells whether an event is of one of some types. */
export function toTypeFilter(patterns: readonly string[]): (type: EventType) => boolean {
  const wanted = new Set(patterns);
  return (type) => wanted.has(type) || wanted.has(`${kindOf(type)}.*`);
}

/** What `listen` is given: a listener of everything, or patterns and a listener of what they let pass. */
export type Listening =
  [listener: EventListener] | [patterns: readonly EventPattern[], listener: EventListener<never>];

/**
 * Makes a listener of everything that hands on what is wanted.
 *
 * @throws {OrchestratorError} `VALIDATION_FAILED` for a pattern that no event has, for none at all, and without a listener.
 */
export function toListener(...[first, narrow]: Listening): EventListener {
  if (typeof first === "function") return first;
  const unknown = first.flatMap((pattern, at) =>
    isEventPattern(pattern) ? [] : [{ path: [at], message: mismatch }],
  );
  if (first.length === 0) unknown.push({ path: [], message: "must name at least one event" });
  if (typeof narrow !== "function") unknown.push({ path: [], message: "must come with a listener" });
  if (unknown.length > 0) throw new OrchestratorError("VALIDATION_FAILED", { issues: unknown });
  const wanted = toTypeFilter(first);
  // The filter is what makes the event one that the listener takes.
  const listener = narrow as EventListener;
  return (event) => wanted(event.event_type) && listener(event);
}

/** Why a text is no pattern. */
export const mismatch = "must be the type of an event, or all of a kind as in `agent.*`";

function kindOf(type: string): string {
  return type.slice(0, type.indexOf("."));
}
