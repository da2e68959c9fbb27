/** Who may connect and what may be said: promises 1, 5 and 6 of the transport port. */
import { OrchestratorError } from "../errors.ts";
import { maxFrameBytes } from "../wire/limits.ts";
import type { AgentSession } from "../wire/session.ts";
import {
  check,
  codeOf,
  equal,
  exampleCommand,
  logOf,
  refreshCommand,
  type SceneCase,
} from "./transport-scene.ts";

const approval = { type: "status", ...exampleCommand, status: "approved" } as const;

/** Cases of promises 1, 5 and 6. */
export const transportAccessCases: SceneCase[] = [
  {
    promise: 1,
    name: "an agent is connected under the name of the key that it proved",
    async test({ transport, heard, agent }) {
      const one = await agent(1);
      check((await one.join()) === "approved", "the agent was not accepted");
      const { nodeId, status } = await heard.next("connected");
      check(nodeId === one.nodeId && status === "approved", "another agent was connected");
      check(transport.isConnected(one.nodeId), "isConnected does not know the agent");
      const { introduction } = await heard.next("admit");
      check(introduction.node_id === one.nodeId, "another agent was introduced");
      check(introduction.hostname === "test-agent", "the host name was lost");
    },
  },
  {
    promise: 1,
    name: "who does not prove a key is never connected",
    async test({ transport, heard, agent }) {
      const one = await agent(1);
      one.socket.send('{"type":"hello"}');
      check((await heard.next("refused")).nodeId === null, "something was proved");
      await one.heard.next("closed");
      check(heard.of("connected").length === 0 && heard.of("admit").length === 0, "it was connected");
      check(!transport.isConnected(one.nodeId), "isConnected knows it");
    },
  },
  {
    promise: 1,
    name: "an agent that is not let in is told why",
    async test({ heard, behaviour, agent }) {
      behaviour.admit = () => Promise.reject(new OrchestratorError("RATE_LIMITED"));
      const one = await agent(1);
      one.greet();
      check((await one.heard.next("refused")).code === "RATE_LIMITED", "it was told something else");
      check((await heard.next("refused")).code === "RATE_LIMITED", "it was reported as something else");
      check(heard.of("connected").length === 0, "it was connected");
    },
  },
  {
    promise: 1,
    name: "a rejected agent is told so and let go",
    async test({ transport, heard, behaviour, agent }) {
      behaviour.admit = () => Promise.resolve({ status: "rejected" });
      const one = await agent(1);
      check((await one.join()) === "rejected", "it was told something else");
      await one.heard.next("closed");
      check(!transport.isConnected(one.nodeId) && heard.of("connected").length === 0, "it was connected");
    },
  },
  {
    promise: 5,
    name: "a second connection with the same key is refused while the first lives",
    async test({ transport, heard, agent }) {
      const first = await agent(1);
      await first.join();
      const second = await agent(1);
      second.greet();
      check((await second.heard.next("refused")).code === "AGENT_ALREADY_CONNECTED", "told otherwise");
      const refusal = await heard.next("refused");
      check(refusal.code === "AGENT_ALREADY_CONNECTED" && refusal.nodeId === first.nodeId, "not reported");
      check(refusal.connectedAddress !== undefined, "it was not told where the first comes from");
      await second.heard.next("closed");
      first.say(logOf("still here"));
      await heard.next("message");
      check(
        transport.isConnected(first.nodeId) && heard.of("disconnected").length === 0,
        "the first was cut",
      );
    },
  },
  {
    promise: 5,
    name: "an agent comes again after its connection has ended",
    async test({ transport, heard, agent }) {
      const first = await agent(1);
      await first.join();
      first.socket.destroy();
      await heard.next("disconnected");
      const second = await agent(1);
      check((await second.join()) === "approved", "it was not let in");
      check(transport.isConnected(second.nodeId), "it is not connected");
    },
  },
  {
    promise: 6,
    name: "a pending agent may wait, and speak once it is told that it is approved",
    async test({ transport, heard, behaviour, agent }) {
      behaviour.admit = () => Promise.resolve({ status: "pending" });
      const one = await agent(1);
      check((await one.join()) === "pending", "it was told something else");
      one.socket.send(one.session.encodePing());
      await heard.next("connected");
      check(
        (await codeOf(transport.send(one.nodeId, refreshCommand))) === "AGENT_NOT_APPROVED",
        "it got a command",
      );
      await transport.send(one.nodeId, approval);
      check(equal((await one.heard.next("message")).message, approval), "it was not told");
      one.say(logOf("thanks"));
      await heard.next("message");
      await transport.send(one.nodeId, refreshCommand);
      await one.heard.next("message");
    },
  },
  {
    promise: 6,
    name: "a pending agent that does not wait loses its connection",
    async test({ transport, heard, behaviour, agent }) {
      behaviour.admit = () => Promise.resolve({ status: "pending" });
      const one = await agent(1);
      await one.join();
      await heard.next("connected");
      one.say(logOf("me first"));
      await one.heard.next("closed");
      const refusal = await heard.next("refused");
      check(refusal.code === "PROTOCOL_ERROR" && refusal.nodeId === one.nodeId, "it was not reported");
      check(heard.of("message").length === 0, "it reached a handler");
      check(!transport.isConnected(one.nodeId), "it is still connected");
    },
  },
  {
    promise: 6,
    name: "an agent that is told that it is rejected loses its connection",
    async test({ transport, heard, agent }) {
      const one = await agent(1);
      await one.join();
      await heard.next("connected");
      await transport.send(one.nodeId, { ...approval, status: "rejected" });
      check(!transport.isConnected(one.nodeId), "it is still connected");
      await one.heard.next("message");
      await one.heard.next("closed");
      check(heard.of("disconnected").length === 1, "disconnected did not come once");
    },
  },
  {
    promise: 6,
    name: "only so many agents may wait for approval",
    async test({ heard, behaviour, agent }) {
      behaviour.admit = () => Promise.resolve({ status: "pending" });
      for (const number of [1, 2]) check((await (await agent(number)).join()) === "pending", "not let in");
      const third = await agent(3);
      third.greet();
      check((await third.heard.next("refused")).code === "RATE_LIMITED", "it was let in");
      check((await heard.next("refused")).code === "RATE_LIMITED", "it was not reported");
    },
  },
  ...breaches(),
];

/** Whatever breaks the protocol: each ends the connection, is reported and reaches no handler. */
function breaches(): SceneCase[] {
  const frames: [string, (scene: { session: AgentSession }) => (Uint8Array | string)[]][] = [
    ["an unknown message", ({ session }) => session.encode({ type: "dance" } as never)],
    ["an unknown field", ({ session }) => session.encode({ ...logOf("x"), node_id: "me" } as never)],
    ["a text frame after the handshake", () => ["{}"]],
    ["bytes that were not sealed", () => [new Uint8Array(100)]],
    ["a frame that is larger than allowed", () => [new Uint8Array(maxFrameBytes + 1)]],
    ["a frame that is repeated", ({ session }) => twice(session.encodePing())],
  ];
  return frames.map(([what, make]) => ({
    promise: 6,
    name: `${what} ends the connection and reaches no handler`,
    async test({ transport, heard, agent }) {
      const one = await agent(1);
      await one.join();
      await heard.next("connected");
      for (const frame of make(one)) one.socket.send(frame);
      await one.heard.next("closed");
      await heard.next("disconnected");
      check(heard.of("message").length === 0, "it reached a handler");
      check(!transport.isConnected(one.nodeId), "it is still connected");
      // What a network refuses by itself never gets so far as to be reported.
      const reported = heard.of("refused").every(({ code }) => code === "PROTOCOL_ERROR");
      check(reported, "it was reported as something else");
    },
  }));
}

function twice(frame: Uint8Array): Uint8Array[] {
  return [frame, frame];
}
