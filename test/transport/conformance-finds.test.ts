/** The conformance suite finds a transport that breaks a promise: each fault here is one that an author may make without noticing. */
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { nodeCrypto } from "../../lib/crypto/node-crypto.ts";
import { isOrchestratorError } from "../../lib/errors.ts";
import { transportConformance } from "../../lib/testing/transport-conformance.ts";
import { MemoryTransport } from "../../lib/transport/memory-transport.ts";
import type { Transport, TransportHandlers } from "../../lib/transport/transport.ts";
import { maxStreamBytes } from "../../lib/wire/limits.ts";

type Fault = (real: MemoryTransport) => Partial<Transport>;

const onHandlers =
  (change: (handlers: TransportHandlers) => Partial<TransportHandlers>): Fault =>
  (real) => ({
    start: (context, handlers) => real.start(context, { ...handlers, ...change(handlers) }),
  });

const inOrder = "messages come in order, none before connected has returned";
const wanted =
  "a message that is not wanted is dropped, each is asked about in its place, and a rejection ends the connection";

const tooLarge = "what is larger than the protocol carries is refused, and keeps nothing else back";

/** Passes over a message that is too large, and nothing else. */
function orOffline(error: unknown): void {
  if (!isOrchestratorError(error, "PAYLOAD_TOO_LARGE")) throw error;
}

const faults: [fault: string, finder: string, plant: Fault][] = [
  [
    "a message comes twice",
    inOrder,
    onHandlers(({ message }) => ({
      async message(...said) {
        await message(...said);
        await message(...said);
      },
    })),
  ],
  [
    "messages come in the order of their arrival here",
    "a message in several frames and a stream keep their place",
    onHandlers(({ message }) => ({
      message: async (...said) => void setImmediate(() => void message(...said)),
    })),
  ],
  [
    "a piece of a stream comes under another id",
    "a message in several frames and a stream keep their place",
    onHandlers(({ stream }) => ({
      stream: (nodeId, streamId, data) => stream(nodeId, streamId.replace(/.$/, "9"), data),
    })),
  ],
  [
    "a message that is too large is lost without a word",
    tooLarge,
    (real) => ({ send: (...sent) => real.send(...sent).catch(orOffline) }),
  ],
  [
    "a piece of a stream that is too large is lost without a word",
    tooLarge,
    (real) => ({ sendStream: (...sent) => real.sendStream(...sent).catch(orOffline) }),
  ],
  [
    "a piece of a stream that is too large is cut",
    tooLarge,
    (real) => ({
      sendStream: (nodeId, streamId, data) =>
        real.sendStream(nodeId, streamId, data.subarray(0, maxStreamBytes)),
    }),
  ],
  [
    "nobody is asked whether a message is wanted",
    wanted,
    onHandlers(() => ({ isWanted: () => Promise.resolve(true) })),
  ],
  [
    "a message is dropped where it can't be said whether it is wanted",
    wanted,
    onHandlers(({ isWanted }) => ({
      isWanted: async (...asked) => (await isWanted?.(...asked).catch(() => false)) ?? true,
    })),
  ],
  [
    "a rejecting handler of a stream is passed over",
    "a rejecting handler of a stream ends its connection",
    onHandlers(({ stream }) => ({ stream: (...piece) => stream(...piece).catch(() => {}) })),
  ],
  [
    "pieces of streams overtake messages",
    "messages and pieces of streams arrive in one order",
    (real) => ({
      async send(nodeId, message) {
        if (message.type !== "status") await Promise.resolve();
        return real.send(nodeId, message);
      },
    }),
  ],
  [
    "stop waits for no handler",
    "stop resolves when no handler runs any more",
    (real) => ({ stop: async () => void real.stop() }),
  ],
];

test.each(faults)("%s: found by the case '%s'", async (_fault, finder, plant) => {
  const cases = transportConformance(async (limits) => {
    const real = new MemoryTransport(limits);
    const planted = plant(real);
    const transport = new Proxy<Transport>(real, {
      get(_, name: keyof Transport) {
        const value: unknown = planted[name] ?? real[name];
        return typeof value === "function" ? value.bind(real) : value;
      },
    });
    return { transport, connect: async () => real.connect(), dispose: () => real.stop() };
  }, nodeCrypto);
  const found = cases.find(({ name }) => name === finder);
  expect(found).toBeDefined();
  const ended = new AbortController();
  // A case that waits for what never comes is ended by its runner's limit.
  const outcome = Promise.race([
    found!.run().then(
      () => "kept",
      (error: unknown) => String(error),
    ),
    sleep(3_000, "never ends", { signal: ended.signal }),
  ]);
  expect(await outcome.finally(() => ended.abort())).toMatch(/^Error: The promise is not kept|^never ends/);
});
