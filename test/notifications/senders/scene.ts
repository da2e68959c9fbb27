/** What channels are tried with. */
import { systemClock, type Clock } from "../../../lib/clock.ts";
import type { JsonObject } from "../../../lib/json.ts";
import { CheckedOutbound } from "../../../lib/notifications/outbound/checked-outbound.ts";
import type { Outbound } from "../../../lib/notifications/outbound/outbound.ts";
import type { Attempt, ChannelType, Message } from "../../../lib/notifications/senders/sender.ts";

/** A message, with what a test wants to be different. */
export function messageOf(different: Partial<Message> = {}): Message {
  return {
    id: "0197a5b4-6d1e-7c3a-9f00-0123456789ab",
    event_type: "agent.offline",
    severity: "critical",
    title: "web-1 is offline",
    body: "Nothing was heard of it for 60 s.\nIt was at 10.0.0.7.",
    subject: { type: "agent", id: "0f3a", name: "web-1" },
    created_at: "2030-01-01T00:00:00.000Z",
    data: { seconds: 60 },
    url: "https://fleet.example/agents/0f3a",
    ...different,
  };
}

/** Texts that would mean something to a receiver, as an agent's name can be full of them. */
export const markup =
  '<!channel> <@U024BE7LH> <https://evil.example|web-1> @everyone <@&123> **bold** _i_ ~s~ `code` [x](https://evil.example) # h & "quoted" \\ ]';

/** Connections to this machine, which a busy one has time for. */
export const localOutbound = (certificateAuthorities?: string[]): CheckedOutbound =>
  new CheckedOutbound({
    allow: ["127.0.0.0/8"],
    connectTimeoutMs: 30_000,
    requestTimeoutMs: 30_000,
    ...(certificateAuthorities && { certificateAuthorities }),
  });

/** Sends a message as an outbox does: with a config that the schema of the type has read. */
export function send(
  type: ChannelType,
  config: JsonObject,
  {
    message = messageOf(),
    clock = systemClock,
    outbound = localOutbound(),
    signal = new AbortController().signal,
  }: { message?: Message; clock?: Clock; outbound?: Outbound; signal?: AbortSignal } = {},
): Promise<Attempt> {
  return type.send(message, type.config.parse(config), { clock, outbound, signal });
}
