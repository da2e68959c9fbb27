/** What a type of notification channel is written with: those that are built in, and those of programs that embed the library. */
import type { z } from "zod";
import type { Clock } from "../../clock.ts";
import type { JsonObject } from "../../json.ts";
import type { Outbound } from "../outbound/outbound.ts";

/** How much a message matters. */
export type Severity = "info" | "warning" | "critical";

/** What is told through a channel. All text is plain and bounded. */
export interface Message {
  /** The same for every attempt, so that a receiver can drop what came twice. */
  id: string;
  /** Of the event that is told, e.g. `agent.offline`. */
  event_type: string;
  /** How much it matters. */
  severity: Severity;
  /** One line that says what happened. */
  title: string;
  /** What more there is to say; lines end with a line feed. */
  body: string;
  /** What it is about. */
  subject: { type: string; id: string; name?: string };
  /** When it happened, RFC 3339 in UTC. */
  created_at: string;
  /** Further facts of the event. */
  data?: JsonObject;
  /** Of the fleet's server, for a link; absent where it is unknown. */
  url?: string;
}

/** How an attempt ended. */
export interface Attempt {
  /** Whether the other side took the message. */
  delivered: boolean;
  /** What the other side answered: a status of HTTP, a reply code of SMTP. */
  status_code?: number;
  /** In words for an operator, without any part of the answer's body. */
  error?: string;
  /** Not worth another attempt: what is configured is wrong. */
  permanent?: boolean;
  /** The receiver asked for this long a rest, in milliseconds: at most 3_600_000. */
  retry_after_ms?: number;
  /** How long it took, in milliseconds. */
  duration_ms: number;
}

/** What an attempt is made with. */
export interface SendContext {
  /** The time by which it is made. */
  clock: Clock;
  /** Ends the attempt. */
  signal: AbortSignal;
  /** The only way to the network. */
  outbound: Outbound;
}

/**
 * One type of channel. What it promises, which `channelConformance` of `fleetwright/testing` tries:
 *
 * 1. Its schema takes what it knows and nothing else, says of each field what it is, and can be told as JSON Schema.
 * 2. A message that the receiver takes is delivered, once.
 * 3. What is no text for the receiver (half a character, a control character, 100,000 characters, nothing at all) is no reason not to deliver.
 * 4. What goes wrong is an {@link Attempt}, and never a rejected promise.
 * 5. A receiver that refuses for good is told from one that fails for now.
 * 6. An error has no secret of the config in it, and nothing that the receiver said.
 * 7. An attempt ends within two minutes, and at once when it is stopped; then all its connections and timers are gone.
 * 8. The network is reached through `outbound` alone, so that what is not allowed is not reached.
 */
export interface ChannelType<Config = JsonObject> {
  /** Strict schema of what one channel is configured with, with a description of each field. */
  config: z.ZodType<Config>;
  /** The fields that are secret: not read back, not logged, and in no error. */
  secretFields: readonly string[];
  /** Tries once to tell a message. The config is one that the schema has read. */
  send(message: Message, config: Config, context: SendContext): Promise<Attempt>;
}

/** A type as a registry holds it, whatever its config: what is not known to the compiler there, its schema has read. */
export function defineChannelType<Config extends object>(type: ChannelType<Config>): ChannelType {
  return type as unknown as ChannelType;
}
