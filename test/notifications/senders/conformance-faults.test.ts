/** That the suite of channel types sees what is wrong with one. */
import { createServer } from "node:http";
import { connect, type AddressInfo } from "node:net";
import { expect, it } from "vitest";
import { z } from "zod";
import type { JsonObject } from "../../../lib/json.ts";
import type { Attempt, ChannelType, SendContext } from "../../../lib/notifications/senders/sender.ts";
import { webhookChannelType } from "../../../lib/notifications/senders/webhook.ts";
import { channelConformance } from "../../../lib/testing/channel-conformance.ts";
import type { ChannelUnderTest } from "../../../lib/testing/channel-scene.ts";

const statuses = { takes: 200, refuses: 404, fails: 503 };

const under: ChannelUnderTest = {
  config: (port) => ({
    url: `http://127.0.0.1:${port}/`,
    secret: `whsec_${Buffer.alloc(24, 7).toString("base64")}`,
    headers: { authorization: "Bearer secret-token" },
  }),
  async receive(answer, words) {
    const received: string[] = [];
    const server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on("data", (chunk: Buffer) => chunks.push(chunk));
      request.on("end", () => {
        received.push(Buffer.concat(chunks).toString());
        response.writeHead(statuses[answer]).end(words);
      });
    });
    await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
    return {
      port: (server.address() as AddressInfo).port,
      received: () => received,
      stop: () => new Promise((resolve) => void server.close(() => resolve())),
    };
  },
};

const send: ChannelType["send"] = (message, config, context) =>
  webhookChannelType.send(message, config, context);
const failed = (error: string): Attempt => ({ delivered: false, error, duration_ms: 0 });
const isOk = ({ delivered }: Attempt): boolean => delivered;

/** Connects past the outbound of the context, and posts what there is to post. */
const past = async (config: JsonObject, { signal }: SendContext): Promise<void> => {
  const socket = connect(Number(new URL(config["url"] as string).port), "127.0.0.1");
  socket.on("error", () => {});
  signal.addEventListener("abort", () => socket.destroy());
  await new Promise((resolve) => socket.once("close", resolve).once("connect", resolve));
  socket.destroy();
};

const faults: [what: string, promises: number[], fault: Partial<ChannelType>][] = [
  ["takes any field", [1], { config: z.record(z.string(), z.json()) }],
  [
    "describes no field",
    [1],
    { config: z.strictObject({ url: z.string(), secret: z.string(), headers: z.json() }) },
  ],
  ["names secrets that are no fields", [1], { secretFields: ["token"] }],
  [
    "sends twice",
    [2, 3],
    {
      send: async (...all) => {
        await send(...all);
        return send(...all);
      },
    },
  ],
  [
    "says that it was delivered and sends nothing",
    [2, 3, 4, 5, 7, 8],
    { send: async () => ({ delivered: true, duration_ms: 0 }) },
  ],
  [
    "wants a title",
    [3],
    { send: async (...all) => (all[0].title.trim() === "" ? failed("no title") : send(...all)) },
  ],
  [
    "rejects",
    [4, 5, 6, 7, 8],
    {
      send: async (...all) => {
        const attempt = await send(...all);
        if (!isOk(attempt)) throw new Error("failed");
        return attempt;
      },
    },
  ],
  [
    "gives up for good",
    [4, 5, 7],
    {
      send: async (...all) => {
        const attempt = await send(...all);
        return isOk(attempt) ? attempt : { ...attempt, permanent: true };
      },
    },
  ],
  [
    "never gives up",
    [5, 8],
    {
      send: async (...all) => {
        const { permanent: _, ...attempt } = await send(...all);
        return attempt;
      },
    },
  ],
  [
    "tells a secret",
    [4, 6],
    {
      send: async (...all) => {
        const attempt = await send(...all);
        return isOk(attempt) ? attempt : { ...attempt, error: `refused: ${JSON.stringify(all[1])}` };
      },
    },
  ],
  [
    "does not stop when it is told to",
    [7],
    {
      send: (message, config, context) =>
        send(message, config, { ...context, signal: new AbortController().signal }),
    },
  ],
  [
    "leaves a timer",
    [2, 3, 4, 5, 6, 7, 8],
    {
      send: (message, config, context) => {
        context.clock.setTimer(600_000, () => {});
        return send(message, config, context);
      },
    },
  ],
  [
    "connects past what checks addresses",
    [8],
    {
      send: async (message, config, context) => {
        const attempt = await send(message, config, context);
        if (attempt.permanent && attempt.status_code === undefined) await past(config, context);
        return attempt;
      },
    },
  ],
];

it.each(faults)("sees a type that %s", async (_what, promises, fault) => {
  const seen = new Set<number>();
  const cases = channelConformance({ ...webhookChannelType, ...fault }, under);
  await Promise.all(cases.map(({ promise, run }) => run().catch(() => seen.add(promise))));
  expect([...seen].toSorted()).toEqual(promises);
});

it("sees nothing wrong with one that is right", async () => {
  for (const { run } of channelConformance(webhookChannelType, under)) await run();
  expect(new Set(channelConformance(webhookChannelType, under).map(({ name }) => name)).size).toBe(
    channelConformance(webhookChannelType, under).length,
  );
});
