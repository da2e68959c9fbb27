/** What arrives, in which order, and how fast: promises 2, 3, 4 and 7 of the transport port. */
import { nextTurn } from "../internal/next-turn.ts";
import { maxMessageBytes, maxStreamBytes } from "../wire/limits.ts";
import type { AgentMessage } from "../wire/messages.ts";
import {
  check,
  codeOf,
  equal,
  exampleCommand,
  exampleStreamId,
  logOf,
  refreshCommand,
  type SceneCase,
} from "./transport-scene.ts";

/** Cases of promises 2, 3, 4 and 7. */
export const transportDeliveryCases: SceneCase[] = [
  {
    promise: 2,
    name: "messages come in order, none before connected has returned",
    async test({ heard, behaviour, agent }) {
      let release = (): void => {};
      behaviour.connected = () => new Promise((resolve) => (release = resolve));
      const one = await agent(1);
      await one.join();
      const texts = Array.from({ length: 50 }, (_, index) => String(index));
      for (const text of texts) one.say(logOf(text));
      await heard.next("admit");
      check(heard.of("message").length === 0, "a message came before connected had returned");
      release();
      for (const text of texts) {
        const { message } = await heard.next("message");
        check(message.type === "log" && message.message === text, `message ${text} is not in its place`);
      }
      check(heard.kinds.indexOf("connected") < heard.kinds.indexOf("message"), "a message came too early");
    },
  },
  {
    promise: 2,
    name: "a message in several frames and a stream keep their place",
    async test({ heard, agent }) {
      const one = await agent(1);
      await one.join();
      const large = largeOutput();
      one.say(large);
      one.socket.send(one.session.encodeStream(exampleStreamId, new Uint8Array([1, 2, 3])));
      one.say(logOf("after"));
      check(equal((await heard.next("message")).message, large), "the large message was changed");
      const { streamId, data } = await heard.next("stream");
      check(equal([streamId, ...data], [exampleStreamId, 1, 2, 3]), "the stream was changed");
      check(equal((await heard.next("message")).message, logOf("after")), "the last message was changed");
      const order = heard.kinds.filter((kind) => kind === "message" || kind === "stream");
      check(equal(order, ["message", "stream", "message"]), `the order was ${order.join(", ")}`);
    },
  },
  {
    promise: 2,
    name: "nothing comes after disconnected",
    async test({ transport, heard, behaviour, agent }) {
      behaviour.message = (nodeId) => transport.disconnect(nodeId, "enough");
      const one = await agent(1);
      await one.join();
      for (let index = 0; index < 20; index += 1) one.say(logOf(String(index)));
      await one.heard.next("closed");
      await heard.next("disconnected");
      check(heard.kinds.at(-1) === "disconnected", "something came after disconnected");
      check(heard.of("message").length === 1, "a message came after its handler had disconnected");
    },
  },
  {
    promise: 2,
    name: "what an agent sent before it hung up is handed over before disconnected",
    async test({ heard, behaviour, agent }) {
      behaviour.message = async () => {
        for (let turn = 0; turn < 5; turn += 1) await nextTurn();
      };
      const one = await agent(1);
      await one.join();
      await heard.next("connected");
      const large = largeOutput();
      const sent = [...Array.from({ length: 20 }, (_, index) => logOf(String(index))), large, logOf("last")];
      for (const message of sent) one.say(message);
      one.socket.close(1000, "done");
      await heard.next("disconnected");
      const arrived = heard.of("message").map(({ message }) => message);
      check(equal(arrived, sent), `${arrived.length} of ${sent.length} messages arrived`);
    },
  },
  {
    promise: 3,
    name: "the handler of a message is done before the next is called, also across a reconnect",
    async test({ heard, behaviour, agent }) {
      let running = 0;
      let most = 0;
      behaviour.message = async () => {
        running += 1;
        most = Math.max(most, running);
        for (let turn = 0; turn < 5; turn += 1) await nextTurn();
        running -= 1;
      };
      const one = await agent(1);
      await one.join();
      for (let index = 0; index < 10; index += 1) one.say(logOf(String(index)));
      for (let index = 0; index < 5; index += 1) await heard.next("message");
      one.socket.close(1000, "");
      await heard.next("disconnected");
      const again = await agent(1);
      await again.join();
      again.say(logOf("again"));
      const isLast = ({ message }: { message: AgentMessage }): boolean => equal(message, logOf("again"));
      while (!isLast(await heard.next("message"))) check(most === 1, `${most} handlers ran at one time`);
      check(most === 1, `${most} handlers ran at one time`);
    },
  },
  {
    promise: 2,
    name: "a message that is not wanted is dropped, each is asked about in its place, and a rejection ends the connection",
    async test({ heard, behaviour, agent }) {
      const asked: unknown[] = [];
      behaviour.isWanted = async ({ type, operationId }) => {
        asked.push([type, operationId, heard.of("message").length]);
        if (asked.length === 4) throw new Error("no");
        return type !== "output";
      };
      const one = await agent(1);
      await one.join();
      for (const message of [logOf("first"), largeOutput(), logOf("second"), logOf("bad"), logOf("never")])
        one.say(message);
      await one.heard.next("closed");
      await heard.next("disconnected");
      const arrived = heard.of("message").map(({ message }) => message);
      check(equal(arrived, [logOf("first"), logOf("second")]), `${arrived.length} messages arrived`);
      const wanted = [
        ["log", null, 0],
        ["output", exampleStreamId, 1],
        ["log", null, 1],
        ["log", null, 2],
      ];
      check(equal(asked, wanted), `it was asked about ${JSON.stringify(asked)}`);
    },
  },
  {
    promise: 4,
    name: "messages and pieces of streams arrive in one order",
    async test({ transport, agent }) {
      const one = await agent(1);
      await one.join();
      const sent = Array.from({ length: 10 }, (_, at) =>
        at % 2 === 0
          ? transport.send(one.nodeId, { ...refreshCommand, id: idOf(at) })
          : transport.sendStream(one.nodeId, idOf(at), new Uint8Array([at])),
      );
      await Promise.all(sent);
      for (let at = 0; at < sent.length; at += 2) {
        const { message } = await one.heard.next("message");
        check("id" in message && message.id === idOf(at), `message ${at} is not in its place`);
        const { streamId, data } = await one.heard.next("stream");
        check(equal([streamId, ...data], [idOf(at + 1), at + 1]), `piece ${at + 1} is not in its place`);
      }
      const order = one.heard.kinds.filter((kind) => kind === "message" || kind === "stream");
      check(
        order.every((kind, at) => kind === (at % 2 === 0 ? "message" : "stream")),
        `the order was ${order.join(", ")}`,
      );
    },
  },
  {
    promise: 4,
    name: "what is larger than the protocol carries is refused, and keeps nothing else back",
    async test({ transport, agent }) {
      const one = await agent(1);
      await one.join();
      const message = { ...refreshCommand, not_after: "x".repeat(maxMessageBytes) };
      const piece = new Uint8Array(maxStreamBytes + 1);
      const sendPiece = transport.sendStream(one.nodeId, exampleStreamId, piece);
      check((await codeOf(sendPiece)) === "PAYLOAD_TOO_LARGE", "a piece of a stream");
      check((await codeOf(transport.send(one.nodeId, message))) === "PAYLOAD_TOO_LARGE", "a message");
      await transport.sendStream(one.nodeId, exampleStreamId, piece.subarray(1));
      check((await one.heard.next("stream")).data.length === maxStreamBytes, "the largest piece was changed");
      await transport.send(one.nodeId, refreshCommand);
      check(equal((await one.heard.next("message")).message, refreshCommand), "the next message");
      check(one.heard.of("stream").length + one.heard.of("message").length === 2, "some of it arrived");
    },
  },
  {
    promise: 4,
    name: "a message for an agent that is not there is refused at once",
    async test({ transport, heard, agent }) {
      check(
        (await codeOf(transport.send("0".repeat(32), refreshCommand))) === "AGENT_OFFLINE",
        "unknown agent",
      );
      const one = await agent(1);
      await one.join();
      one.socket.close(1000, "");
      await heard.next("disconnected");
      check(
        (await codeOf(transport.send(one.nodeId, refreshCommand))) === "AGENT_OFFLINE",
        "agent that left",
      );
      const stream = transport.sendStream(one.nodeId, exampleStreamId, new Uint8Array(1));
      check((await codeOf(stream)) === "AGENT_OFFLINE", "stream to an agent that left");
    },
  },
  {
    promise: 4,
    name: "what is sent arrives in order, and sending does not wait for it",
    async test({ transport, agent }) {
      const one = await agent(1);
      await one.join();
      one.socket.pause();
      for (let seconds = 1; seconds <= 20; seconds += 1) {
        await transport.send(one.nodeId, {
          type: "config",
          ...exampleCommand,
          metrics_interval_seconds: seconds,
        });
      }
      one.socket.resume();
      for (let seconds = 1; seconds <= 20; seconds += 1) {
        const { message } = await one.heard.next("message");
        check(message.type === "config" && message.metrics_interval_seconds === seconds, "out of order");
      }
    },
  },
  {
    promise: 7,
    name: "an agent that does not read is cut off at the send limit",
    async test({ transport, heard, agent }) {
      const one = await agent(1);
      await one.join();
      await heard.next("connected");
      one.socket.pause();
      const piece = new Uint8Array(256 * 1024);
      let code: unknown = null;
      // More than any network buffers on its own: 256 MiB.
      for (let count = 0; count < 1024 && code === null; count += 1) {
        code = await codeOf(transport.sendStream(one.nodeId, exampleStreamId, piece));
        await nextTurn();
      }
      check(code === "AGENT_OFFLINE", `sending ended with ${String(code)}`);
      check((await heard.next("disconnected")).nodeId === one.nodeId, "another agent was cut off");
      check(!transport.isConnected(one.nodeId), "it is still connected");
      // It never hears of the end by itself: it still does not read.
      one.socket.destroy();
    },
  },
];

function idOf(at: number): string {
  return exampleStreamId.replace(/.$/, String(at));
}

/** Output of 600 KB: more than one frame carries. */
function largeOutput(): AgentMessage {
  const piece = {
    module: "m",
    resource_id: "r",
    stream: "stdout",
    text: "x".repeat(200_000),
    truncated: false,
  } as const;
  return { type: "output", operation_id: exampleStreamId, output: [piece, piece, piece] };
}
