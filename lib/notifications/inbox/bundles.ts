/** Events that happened together, as one notification of each kind: 400 machines that went away are one, not 400. */
import {
  concernedAgents,
  type EventSubject,
  type EventType,
  type OrchestratorEvent,
  type Severity,
} from "../../events.ts";
import { notifiedEvents } from "./notified-events.ts";

/** An agent that an event is about. */
export interface ConcernedAgent {
  id: string;
  name: string;
}

/** What one notification tells. */
export interface Bundle {
  event_type: EventType;
  severity: Severity;
  muted: boolean;
  /** At least one, in the order of the log. */
  events: OrchestratorEvent[];
  /** The agents that they are about, as far as they are named; each once. */
  agents: ConcernedAgent[];
  /** How many events, or agents where an event tells of many. */
  count: number;
}

/** What is asked about agents. */
export interface AgentFacts {
  /** What people call an agent. */
  nameOf: (nodeId: string) => string;
  /** Whether a maintenance window kept it silent at an instant, milliseconds since 1970. */
  isMuted: (nodeId: string, atMs: number) => boolean;
}

/**
 * Puts events together. Bundles are in the order of their first events, and so are the events of each agent: what comes again after
 * something else became of an agent is a bundle of its own, so that the last that is told is how it ended.
 */
export function toBundles(events: readonly OrchestratorEvent[], facts: AgentFacts): Bundle[] {
  const all: Bundle[] = [];
  const open = new Map<string, { bundle: Bundle; place: number; known: Set<string> }>();
  /** The place of the last bundle that is about an agent. */
  const lastOf = new Map<string, number>();
  for (const event of events) {
    for (const part of partsOf(event, facts)) {
      const { event_type, severity } = event;
      const { many, by } = notifiedEvents[event_type] ?? {};
      const kind = many === undefined ? event.id : (by?.(event).id ?? "");
      const key = JSON.stringify([event_type, severity, part.muted, kind]);
      const known = open.get(key);
      const isInOrder = known && part.agents.every(({ id }) => (lastOf.get(id) ?? 0) <= known.place);
      const made = isInOrder ? known : begin(event, part.muted);
      open.set(key, made);
      made.bundle.events.push(event);
      made.bundle.count += part.count;
      for (const agent of part.agents) {
        lastOf.set(agent.id, made.place);
        if (made.known.has(agent.id)) continue;
        made.known.add(agent.id);
        made.bundle.agents.push(agent);
      }
    }
  }
  return all;

  function begin({ event_type, severity }: OrchestratorEvent, muted: boolean) {
    const bundle: Bundle = { event_type, severity, muted, events: [], agents: [], count: 0 };
    all.push(bundle);
    return { bundle, place: all.length, known: new Set<string>() };
  }
}

type Part = Pick<Bundle, "muted" | "agents" | "count">;

/** An event about agents some of which are muted is told in two parts. */
function partsOf(event: OrchestratorEvent, { nameOf, isMuted }: AgentFacts): Part[] {
  const { nodeIds, count } = concerned(event);
  if (nodeIds.length === 0) return [{ muted: false, agents: [], count }];
  const atMs = Date.parse(event.timestamp);
  const agents = nodeIds.map((id) => ({ id, name: nameOf(id) }));
  const silent = new Set(agents.filter(({ id }) => isMuted(id, atMs)));
  const loud = agents.filter((agent) => !silent.has(agent));
  // What is not named is counted with those that are not muted, so that nothing is silent by mistake.
  const loudCount = count - silent.size;
  return [
    ...(loudCount > 0 ? [{ muted: false, agents: loud, count: loudCount }] : []),
    ...(silent.size > 0 ? [{ muted: true, agents: [...silent], count: silent.size }] : []),
  ];
}

function concerned(event: OrchestratorEvent): { nodeIds: string[]; count: number } {
  const { metadata } = event;
  const nodeIds = concernedAgents(event);
  const count = "node_ids" in metadata && "agents" in metadata ? metadata.agents : 1;
  return { nodeIds, count: Math.max(count, nodeIds.length) };
}

/** The same about some of its agents, for a channel that is for these alone; null where none of them is. */
export function narrowed(bundle: Bundle, isFor: (nodeId: string) => boolean): Bundle | null {
  const agents = bundle.agents.filter(({ id }) => isFor(id));
  if (agents.length === 0) return null;
  if (agents.length === bundle.agents.length) return bundle;
  const ids = new Set(agents.map(({ id }) => id));
  const events = bundle.events.filter((event) => concerned(event).nodeIds.some((id) => ids.has(id)));
  const own = events.map((event) => concerned(event).nodeIds.filter((id) => ids.has(id)).length);
  return { ...bundle, agents, events, count: own.reduce((sum, each) => sum + each, 0) };
}

/** What a bundle says to people. */
export interface Told {
  title: string;
  body: string;
  subject: EventSubject;
}

/** Agents that are named in a text. */
const mostNamed = 20;

/** Puts a bundle into words. */
export function tell(bundle: Bundle): Told {
  const { events, agents, count } = bundle;
  const [event] = events;
  const { many, one, by } = notifiedEvents[bundle.event_type] ?? {};
  const subject = subjectOf(bundle);
  const isWhole = events.length === 1 && count === concerned(event!).count;
  if (many === undefined || isWhole) return { title: event!.summary, body: namesOf(agents), subject };
  if (count === 1 && agents[0] && one) return { title: one(agents[0].name), body: "", subject };
  const summaries = events.slice(0, mostNamed).map(({ summary }) => summary);
  const title = by ? `${by(event!).name}: ${many(count)}` : many(count);
  return { title, body: agents.length > 0 ? namesOf(agents) : summaries.join("\n"), subject };
}

function namesOf(agents: readonly ConcernedAgent[]): string {
  if (agents.length < 2) return "";
  const named = agents.slice(0, mostNamed).map(({ name }) => name);
  const more = agents.length - named.length;
  return named.join(", ") + (more > 0 ? ` and ${more} more` : "");
}

function subjectOf({ events, agents, count }: Bundle): EventSubject {
  const [{ target, actor }] = events as [OrchestratorEvent];
  const [first] = agents;
  const others = count - 1;
  if (others === 0 || !first) return target ?? (first ? { type: "agent", ...first } : actor);
  return {
    type: "agent",
    id: first.id,
    name: `${first.name} and ${others} ${others === 1 ? "other" : "others"}`,
  };
}
