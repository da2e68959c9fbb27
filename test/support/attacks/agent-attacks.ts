/** What is done to the server by those that pass for agents. */
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { setTimeout as pause } from "node:timers/promises";
import { WebSocket } from "ws";
import { hostileMessages } from "../hostile-messages.ts";
import { emptyResult } from "../scripted-agent.ts";
import type { Attack, Target, Turn } from "./attack.ts";
import { approvedSeeds, freshSeed, HostileAgent } from "./hostile-agent.ts";

const mib = 1024 * 1024;
const makers = Object.values(hostileMessages);
const frames = makers.map((make) => make(0.9 * mib).slice(0, mib - 100));
/** The large ones are made when they are needed first: all of them take a while. */
const messages: string[] = [];
const messageOf = (n: number): string => {
  const at = n % makers.length;
  return (messages[at] ??= makers[at]!(13 * mib).slice(0, 13 * mib));
};

/** Strangers that come with a new key each and stay a moment. */
const strangers: Attack = {
  hands: 4,
  restMs: 50,
  async once({ agentUrl }, { signal }) {
    const agent = await HostileAgent.connect(agentUrl, freshSeed(), signal);
    await agent.end(200);
  },
};

/** Strangers that begin the handshake and say no more, or no sense. */
const halfHandshakes: Attack = {
  hands: 8,
  restMs: 100,
  async once({ agentUrl }, { round, signal }) {
    const socket = new WebSocket(agentUrl).on("error", () => {});
    await once(socket, "open", { signal });
    if (round % 2 === 0) socket.send(Buffer.alloc(round % 4 === 0 ? 200 : 64 * 1024, round));
    else await pause(1_000);
    socket.terminate();
  },
};

/** Agents that wait to be approved and send frames as large as a frame may be. */
const pendingFrames: Attack = {
  hands: 4,
  restMs: 50,
  async once({ agentUrl }, { hand, round, signal }) {
    const agent = await HostileAgent.connect(agentUrl, freshSeed(), signal);
    const text = frames[(hand + round) % frames.length] ?? "";
    try {
      for (let n = 0; n < 4; n += 1) await agent.sendText(text, { inOneFrame: true });
    } finally {
      await agent.end(2_000);
    }
  },
};

/** What an approved agent says on one connection after the other. */
type Speech = (agent: HostileAgent, turn: Turn) => Promise<void>;

const speeches: readonly Speech[] = [
  (agent, { round }) => agent.sendText(messageOf(round)),
  (agent, { round }) => agent.sendText(messageOf(round * 7 + 3)),
  (agent) => many(500, () => agent.say({ type: "log", level: "error", message: "x".repeat(4_000) })),
  (agent) =>
    many(200, (n) => {
      const values = Array.from({ length: 100 }, (_, key) => [`k${key}`, `${n} ${"x".repeat(200)}`]);
      const attributes = Object.fromEntries(values) as Record<string, string>;
      return agent.say({ type: "attributes", attributes, collected_at: new Date().toISOString() });
    }),
  (agent) => many(300, () => agent.say(emptyResult(randomUUID()))),
  (agent) =>
    many(300, () =>
      agent.say({ type: "reply", id: randomUUID(), error: { code: "HOST_ERROR", message: "x" } }),
    ),
];

/** Agents that somebody approved, and that turn out to be hostile: each in its own way. */
const approved: Attack = {
  hands: approvedSeeds.length,
  restMs: 100,
  async once(target: Target, turn) {
    const agent = await HostileAgent.connect(target.agentUrl, approvedSeeds[turn.hand]!, turn.signal);
    try {
      await speeches[turn.hand]!(agent, turn);
    } finally {
      await agent.end(500);
    }
  },
};

async function many(times: number, say: (n: number) => Promise<void>): Promise<void> {
  for (let n = 0; n < times; n += 1) await say(n);
}

export const agentAttacks: Readonly<Record<string, Attack>> = {
  strangers,
  halfHandshakes,
  pendingFrames,
  approved,
};
