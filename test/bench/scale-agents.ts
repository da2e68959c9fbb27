/**
 * A part of many agents, in a process of its own: `scale-agents.ts product|bare <url> <first> <count>`. Says "connected" once all of them
 * are; they answer whatever they are sent.
 */
import { dialWebSocket } from "../../lib/agent/websocket-dial.ts";
import { bareAnswers } from "./scale-messages.ts";
import { createSimulatedAgent } from "./simulated-agent.ts";

const [, , kind = "", url = "", first = "", count = ""] = process.argv;
/** The server takes 64 handshakes of one address at a time, and there is more than one process of agents. */
const atOnce = 24;

async function connectBare(): Promise<void> {
  const socket = await dialWebSocket(url);
  socket.listen({
    frame() {
      for (const answer of bareAnswers) socket.send(answer);
    },
    closed() {},
  });
}

async function connectAgent(number: number): Promise<void> {
  await new Promise<void>((resolve) => {
    createSimulatedAgent({
      number,
      results: [],
      dial: () => dialWebSocket(url),
      onAccepted: resolve,
    }).start();
  });
}

let next = Number(first);
async function connectSome(): Promise<void> {
  while (next < Number(first) + Number(count)) {
    const number = next++;
    await (kind === "product" ? connectAgent(number) : connectBare());
  }
}

process.on("disconnect", () => process.exit());
await Promise.all(Array.from({ length: atOnce }, connectSome));
process.send?.("connected");
