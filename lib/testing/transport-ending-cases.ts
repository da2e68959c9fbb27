/** How connections end: promises 8, 9 and 10 of the transport port. */
import { nextTurn } from "../internal/next-turn.ts";
import type { Admission } from "../transport/transport.ts";
import { check, codeOf, exampleStreamId, logOf, refreshCommand, type SceneCase } from "./transport-scene.ts";

/** Cases of promises 8, 9 and 10. */
export const transportEndingCases: SceneCase[] = [
  {
    promise: 8,
    name: "disconnect ends a connection, and disconnected comes once",
    async test({ transport, heard, agent }) {
      const [one, two] = [await agent(1), await agent(2)];
      await one.join();
      await two.join();
      for (let count = 0; count < 2; count += 1) await heard.next("connected");
      await transport.disconnect(one.nodeId, "not needed");
      await transport.disconnect(one.nodeId, "not needed");
      await one.heard.next("closed");
      check(heard.of("disconnected").length === 1, "disconnected did not come once");
      check(heard.of("disconnected")[0]?.reason.includes("not needed") === true, "the reason was lost");
      check(!transport.isConnected(one.nodeId) && transport.isConnected(two.nodeId), "the wrong one ended");
    },
  },
  {
    promise: 8,
    name: "stop ends every connection, and disconnected comes once for each",
    async test({ transport, heard, agent }) {
      const agents = [await agent(1), await agent(2), await agent(3)];
      for (const each of agents) await each.join();
      for (let count = 0; count < 3; count += 1) await heard.next("connected");
      await Promise.all([transport.stop(), transport.stop()]);
      await transport.stop();
      for (const each of agents) await each.heard.next("closed");
      const ended = heard.of("disconnected").map(({ nodeId }) => nodeId);
      check(new Set(ended).size === 3 && ended.length === 3, "disconnected did not come once for each");
      check(
        (await codeOf(transport.send(agents[0]?.nodeId ?? "", refreshCommand))) === "AGENT_OFFLINE",
        "it still sends",
      );
    },
  },
  {
    promise: 8,
    name: "stop resolves when no handler runs any more",
    async test({ transport, heard, behaviour, agent }) {
      let running = 0;
      behaviour.message = async () => {
        running += 1;
        for (let turn = 0; turn < 5; turn += 1) await nextTurn();
        running -= 1;
      };
      const one = await agent(1);
      await one.join();
      one.say(logOf("last"));
      await heard.next("message");
      await transport.stop();
      check(running === 0, "a handler ran on");
    },
  },
  {
    promise: 9,
    name: "a rejecting handler of a stream ends its connection",
    async test({ heard, behaviour, agent }) {
      behaviour.stream = () => Promise.reject(new Error("no"));
      const one = await agent(1);
      await one.join();
      one.socket.send(one.session.encodeStream(exampleStreamId, new Uint8Array(1)));
      await one.heard.next("closed");
      check((await heard.next("disconnected")).nodeId === one.nodeId, "another connection ended");
    },
  },
  {
    promise: 9,
    name: "a handler that rejects ends its connection, and nothing else",
    async test({ transport, heard, behaviour, agent }) {
      behaviour.message = (_, message) =>
        message.type === "log" && message.message === "bad"
          ? Promise.reject(new Error("no"))
          : Promise.resolve();
      const [one, two] = [await agent(1), await agent(2)];
      await one.join();
      await two.join();
      one.say(logOf("bad"));
      one.say(logOf("never handled"));
      await one.heard.next("closed");
      check((await heard.next("disconnected")).nodeId === one.nodeId, "another connection ended");
      two.say(logOf("good"));
      for (let last = await heard.next("message"); last.nodeId !== two.nodeId;)
        last = await heard.next("message");
      check(heard.of("message").length === 2, "a message was handed over after the failure");
      check(transport.isConnected(two.nodeId), "the other connection ended");
    },
  },
  {
    promise: 9,
    name: "a rejecting connected ends its connection, and disconnected follows",
    async test({ transport, heard, behaviour, agent }) {
      behaviour.connected = () => Promise.reject(new Error("no"));
      const one = await agent(1);
      await one.join();
      await one.heard.next("closed");
      await heard.next("disconnected");
      check(heard.of("disconnected").length === 1, "disconnected did not come once");
      check(!transport.isConnected(one.nodeId), "it is still connected");
    },
  },
  {
    promise: 10,
    name: "a silent agent is disconnected, one that pings is not",
    async test({ transport, clock, heard, agent }) {
      const [silent, alive] = [await agent(1), await agent(2)];
      await silent.join();
      await alive.join();
      for (let count = 0; count < 2; count += 1) await heard.next("connected");
      for (let count = 0; count < 4; count += 1) {
        alive.socket.send(alive.session.encodePing());
        // The message behind the ping tells that the ping has arrived.
        alive.say(logOf("behind the ping"));
        await heard.next("message");
        await clock.advance(15_000);
      }
      check((await heard.next("disconnected")).nodeId === silent.nodeId, "the wrong one was disconnected");
      check(transport.isConnected(alive.nodeId), "the living one was disconnected");
      await alive.heard.next("ping");
    },
  },
  {
    promise: 10,
    name: "a connection on which nothing is said is ended after 10 s",
    async test({ clock, agent }) {
      const one = await agent(1);
      await clock.advance(10_001);
      await one.heard.next("closed");
    },
  },
  {
    promise: 10,
    name: "an agent about which nothing is decided is let go after 10 s",
    async test({ clock, heard, behaviour, agent }) {
      let decide: (admission: Admission) => void = () => {};
      behaviour.admit = () => new Promise((resolve) => (decide = resolve));
      const one = await agent(1);
      one.greet();
      await heard.next("admit");
      await clock.advance(10_001);
      check((await one.heard.next("refused")).code === "AGENT_TIMEOUT", "it was told something else");
      check((await heard.next("refused")).code === "AGENT_TIMEOUT", "it was reported as something else");
      decide({ status: "approved" });
      await one.heard.next("closed");
      check(heard.of("connected").length === 0, "it was connected although it was let go");
    },
  },
];
