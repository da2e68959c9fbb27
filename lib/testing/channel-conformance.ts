/** Every promise of a channel type as cases that any test runner can run; see {@link ConformanceCase}. */
import { z } from "zod";
import { systemClock } from "../clock.ts";
import { nextTurn } from "../internal/next-turn.ts";
import type { Json } from "../json.ts";
import type { Attempt, ChannelType } from "../notifications/senders/sender.ts";
import {
  begin,
  channelMessage,
  closedPort,
  ended,
  withSilence,
  type ChannelReceiver,
  type ChannelScene,
  type ChannelUnderTest,
  type ReceiverAnswer,
} from "./channel-scene.ts";
import type { ConformanceCase } from "./conformance.ts";
import { assertEqual, assertThat } from "./expect.ts";

type ChannelCase = Omit<ConformanceCase, "run"> & { test: (scene: ChannelScene) => Promise<void> };

/** What a receiver says that must not be told on. */
const words = "the-receiver-said-tiger";

const oddTexts: [name: string, text: string][] = [
  ["nothing at all", ""],
  ["100,000 characters", "🚒é".repeat(50_000)],
  ["halves of characters", "\ud83d a \ude92"],
  ["control characters", Array.from({ length: 32 }, (_, code) => String.fromCharCode(code)).join("")],
  ["lines", "a\r\nb\rc\nd\u2028e\r\n.\r\nf"],
  ["markup", `<!channel> @everyone [x](https://evil.example) **b** "]\\ <b>&amp; ${"\u202e"}`],
];

const cases: ChannelCase[] = [
  {
    promise: 1,
    name: "the schema takes the config, and no field that is not known",
    async test({ type, under }) {
      const config = under.config(1);
      assertThat(type.config.safeParse(config).success, "the schema refuses the config of the test");
      const more = type.config.safeParse({ ...config, no_such_field: "x" });
      assertThat(!more.success, "the schema takes a field that it does not know");
    },
  },
  {
    promise: 1,
    name: "the schema says of each field what it is, secret ones included",
    async test({ type, under }) {
      const { properties = {} } = z.toJSONSchema(type.config, { io: "input" });
      const named = Object.entries(properties).map(([name, property]) => [name, descriptionOf(property)]);
      assertEqual(
        named.filter(([, description]) => description === undefined),
        [],
        "fields without a description",
      );
      assertEqual(
        type.secretFields.filter((name) => !(name in properties)),
        [],
        "secret fields that are no fields",
      );
      const given = under.config(1);
      assertEqual(
        type.secretFields.filter((name) => !(name in given)),
        [],
        "secrets that the test gives no value",
      );
    },
  },
  {
    promise: 2,
    name: "a message that is taken is delivered, once",
    test: (scene) =>
      withReceiver(scene, "takes", async (receiver) => {
        const attempt = await ended(begin(scene, receiver.port));
        assertThat(attempt.delivered && attempt.error === undefined, `not delivered: ${attempt.error}`);
        await until(() => receiver.received().length > 0, "nothing came");
        assertEqual(receiver.received().length, 1, "messages that came");
        assertThat(receiver.received()[0]!.includes("conformance"), "what came has no title in it");
      }),
  },
  ...oddTexts.map(([what, text]): ChannelCase => ({
    promise: 3,
    name: `a message of ${what} is delivered`,
    test: (scene) =>
      withReceiver(scene, "takes", async (receiver) => {
        const subject = { type: "agent", id: text, name: text };
        const message = channelMessage({ title: text, body: text, subject, data: { text }, url: text });
        const attempt = await ended(begin(scene, receiver.port, { message }));
        assertThat(attempt.delivered, `not delivered: ${attempt.error}`);
        await until(() => receiver.received().length === 1, "nothing came");
      }),
  })),
  {
    promise: 4,
    name: "where nobody listens it is not delivered, and may be tried again",
    async test(scene) {
      const attempt = await ended(begin(scene, await closedPort()));
      assertEqual([attempt.delivered, attempt.permanent ?? false], [false, false], "delivered, for good");
      assertNothingTold(attempt, scene);
    },
  },
  {
    promise: 5,
    name: "a receiver that refuses for good is not tried again",
    needs: "answers",
    test: (scene) =>
      withReceiver(scene, "refuses", async ({ port }) => {
        const attempt = await ended(begin(scene, port));
        assertEqual([attempt.delivered, attempt.permanent], [false, true], "delivered, for good");
      }),
  },
  {
    promise: 5,
    name: "a receiver that fails for now may be tried again",
    needs: "answers",
    test: (scene) =>
      withReceiver(scene, "fails", async ({ port }) => {
        const attempt = await ended(begin(scene, port));
        assertEqual([attempt.delivered, attempt.permanent ?? false], [false, false], "delivered, for good");
      }),
  },
  {
    promise: 6,
    name: "an error has no secret in it, and nothing that the receiver said",
    needs: "answers",
    async test(scene) {
      for (const answer of ["refuses", "fails"] as const)
        await withReceiver(scene, answer, async ({ port }) =>
          assertNothingTold(await ended(begin(scene, port)), scene),
        );
    },
  },
  {
    promise: 7,
    name: "an attempt at a receiver that says nothing ends in time, and hangs up",
    test: (scene) =>
      withSilence(async ({ port, sockets }) => {
        await ended(begin(scene, port), () => sockets.size > 0);
        await until(() => [...sockets].every((socket) => socket.closed), "a connection is still open");
      }),
  },
  {
    promise: 7,
    name: "an attempt that is stopped ends at once",
    needs: "answers",
    test: (scene) =>
      withSilence(async ({ port, sockets }) => {
        const begun = begin(scene, port);
        await until(() => sockets.size > 0, "no connection was made");
        begun.stop.abort();
        const stoppedAt = systemClock.monotonic();
        const attempt = await ended(begun, () => systemClock.monotonic() - stoppedAt > 1000);
        assertThat(begun.clock.monotonic() < 3000, "the attempt went on");
        assertEqual([attempt.delivered, attempt.permanent ?? false], [false, false], "delivered, for good");
        await until(() => [...sockets].every((socket) => socket.closed), "a connection is still open");
      }),
  },
  {
    promise: 8,
    name: "an address that is not allowed gets no connection",
    test: (scene) =>
      withSilence(async ({ port, sockets }) => {
        const attempt = await ended(begin(scene, port, { outbound: { allow: [] } }));
        assertEqual([attempt.delivered, attempt.permanent], [false, true], "delivered, for good");
        assertEqual(sockets.size, 0, "connections");
      }),
  },
];

/**
 * The cases that every type of channel passes: at least one for each numbered promise of `ChannelType`.
 *
 * Each case starts what it needs and stops it. `needs` is "answers" for what only a receiver can show that answers what it is sent, which
 * one of syslog does not.
 *
 * @param type - The type to try.
 * @param under - What it is configured with, and who receives.
 */
export function channelConformance(type: ChannelType, under: ChannelUnderTest): ConformanceCase[] {
  return cases.map(({ test, ...described }) => ({ ...described, run: () => test({ type, under }) }));
}

async function withReceiver(
  { under }: ChannelScene,
  answer: ReceiverAnswer,
  test: (receiver: ChannelReceiver) => Promise<void>,
): Promise<void> {
  const receiver = await under.receive(answer, words);
  try {
    await test(receiver);
  } finally {
    await receiver.stop();
  }
}

function assertNothingTold({ error = "" }: Attempt, { type, under }: ChannelScene): void {
  assertThat(!error.includes(words), "the error has in it what the receiver said");
  const config = under.config(1);
  for (const secret of type.secretFields.flatMap((name) => textsIn(config[name] ?? null)))
    assertThat(!error.includes(secret), "the error has a secret in it");
}

function textsIn(value: Json): string[] {
  if (typeof value === "string") return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(textsIn) : [];
}

function descriptionOf(property: unknown): string | undefined {
  return typeof property === "object" && property !== null
    ? (property as { description?: string }).description
    : undefined;
}

/** Waits for what another part of the process does next. */
async function until(holds: () => boolean, otherwise: string): Promise<void> {
  const startedAt = systemClock.monotonic();
  while (!holds()) {
    assertThat(systemClock.monotonic() - startedAt < 2000, otherwise);
    await nextTurn();
  }
}
