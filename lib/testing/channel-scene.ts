/** What the cases of a channel type are tried with. */
import { createServer, type AddressInfo, type Server, type Socket } from "node:net";
import { systemClock } from "../clock.ts";
import type { JsonObject } from "../json.ts";
import { CheckedOutbound, type CheckedOutboundOptions } from "../notifications/outbound/checked-outbound.ts";
import type { Attempt, ChannelType, Message } from "../notifications/senders/sender.ts";
import { assertEqual, assertThat } from "./expect.ts";
import { FakeClock } from "./fake-clock.ts";

/** How a receiver is to answer: it takes messages, refuses them for good, or fails for now. */
export type ReceiverAnswer = "takes" | "refuses" | "fails";

/** A receiver on 127.0.0.1. */
export interface ChannelReceiver {
  /** Where it listens. */
  port: number;
  /** What came, a text for each message; how it was encoded on its way may be undone. */
  received(): readonly string[];
  /** Stops it and closes its connections. */
  stop(): Promise<void>;
}

/** A type of channel to try. */
export interface ChannelUnderTest {
  /** A config with a value for every secret field, of a receiver on 127.0.0.1 at a port. */
  config(port: number): JsonObject;
  /** Certificates (PEM) that are trusted; absent = those that Node trusts. */
  certificateAuthorities?: readonly string[];
  /** Starts a receiver, which says `words` with each answer if it can. */
  receive(answer: ReceiverAnswer, words: string): Promise<ChannelReceiver>;
}

/** What a case works with. */
export interface ChannelScene {
  type: ChannelType;
  under: ChannelUnderTest;
}

/** A message with what a case wants to be different. */
export function channelMessage(different: Partial<Message> = {}): Message {
  return {
    id: "0197a5b4-6d1e-7c3a-9f00-0123456789ab",
    event_type: "agent.offline",
    severity: "warning",
    title: "conformance",
    body: "first line\nsecond line",
    subject: { type: "agent", id: "0f3a", name: "web-1" },
    created_at: "2030-01-01T00:00:00.000Z",
    data: { seconds: 60 },
    url: "https://fleet.example/agents/0f3a",
    ...different,
  };
}

/** An attempt that has begun. */
export interface Begun {
  clock: FakeClock;
  stop: AbortController;
  attempt: Promise<Attempt>;
}

/** Begins an attempt as an outbox does. */
export function begin(
  { type, under }: ChannelScene,
  port: number,
  {
    message = channelMessage(),
    outbound = {},
  }: { message?: Message; outbound?: CheckedOutboundOptions } = {},
): Begun {
  const [clock, stop] = [new FakeClock(), new AbortController()];
  const config = type.config.parse(under.config(port));
  const context = {
    clock,
    signal: stop.signal,
    outbound: new CheckedOutbound({
      allow: ["127.0.0.0/8"],
      clock,
      ...(under.certificateAuthorities && { certificateAuthorities: under.certificateAuthorities }),
      ...outbound,
    }),
  };
  return { clock, stop, attempt: type.send(message, config, context) };
}

/**
 * Waits for the end of an attempt. Its time passes as that of the process does, until there is nothing more to come: then a second in each
 * turn.
 */
export async function ended(
  { clock, attempt }: Begun,
  allCame: () => boolean = () => false,
): Promise<Attempt> {
  let outcome: { attempt: Attempt } | { error: unknown } | undefined;
  void attempt.then(
    (value) => (outcome = { attempt: value }),
    (error: unknown) => (outcome = { error }),
  );
  const startedAt = systemClock.monotonic();
  while (outcome === undefined) {
    const passedMs = systemClock.monotonic() - startedAt;
    assertThat(passedMs < 15_000, "the attempt does not end");
    await clock.advance(allCame() ? 1000 : Math.max(0, passedMs - clock.monotonic()));
  }
  if ("error" in outcome) throw new Error("the attempt was rejected", { cause: outcome.error });
  assertThat(clock.monotonic() <= 120_000, "the attempt takes longer than two minutes");
  assertEqual(clock.pendingTimers, 0, "timers that the attempt left behind");
  checkForm(outcome.attempt);
  return outcome.attempt;
}

function checkForm({ delivered, error, retry_after_ms: rest = 0, duration_ms: duration }: Attempt): void {
  assertThat(delivered || (error !== undefined && error !== ""), "an attempt that failed says no error");
  assertThat(duration >= 0 && Number.isInteger(duration), "the duration is no whole number of milliseconds");
  assertThat(rest >= 0 && rest <= 3_600_000, "the rest is not 0-3_600_000 ms");
}

/** A server that takes connections and never says anything. */
export async function withSilence(
  test: (silent: { port: number; sockets: ReadonlySet<{ closed: boolean }> }) => Promise<void>,
): Promise<void> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => {}).resume();
  });
  try {
    await test({ port: await listen(server), sockets });
  } finally {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  }
}

/** A port of 127.0.0.1 where nobody listens. */
export async function closedPort(): Promise<number> {
  const server = createServer();
  const port = await listen(server);
  await new Promise((resolve) => server.close(resolve));
  return port;
}

function listen(server: Server): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => resolve((server.address() as AddressInfo).port));
  });
}
