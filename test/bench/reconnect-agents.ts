/**
 * A part of a fleet in a process of its own: `reconnect-agents.ts <url> <first> <count>`. Says "connected" once all of them are; told
 * "again" when they have lost their server, it says how they came back.
 */
import { dialWebSocket } from "../../lib/agent/websocket-dial.ts";
import { createSimulatedAgent } from "./simulated-agent.ts";

/** How the agents of one process came back. */
export interface CameBack {
  /** When each was taken in, milliseconds since 1970. */
  atMs: number[];
  /** Dials that the server answered with "come again later". */
  turnedAway: number;
}

const [, , url = "", first = "", count = ""] = process.argv;
/** The server takes 64 handshakes of one address at a time, and there is more than one process of agents. */
const atOnce = 24;

let back: CameBack = { atMs: [], turnedAway: 0 };
let tellAll = (): void => {};
const allAreBack = (): Promise<void> =>
  new Promise((resolve) => {
    tellAll = resolve;
    if (back.atMs.length === Number(count)) resolve();
  });

let next = Number(first);
async function connectSome(): Promise<void> {
  while (next < Number(first) + Number(count)) {
    const number = next++;
    await new Promise<void>((resolve) => {
      createSimulatedAgent({
        number,
        results: [],
        dial: () => dialWebSocket(url),
        onAccepted() {
          resolve();
          back.atMs.push(Date.now());
          if (back.atMs.length === Number(count)) tellAll();
        },
        onDown({ message }) {
          if (message.includes("1013")) back.turnedAway += 1;
        },
      }).start();
    });
  }
}

process.on("message", () => {
  back = { atMs: [], turnedAway: 0 };
  process.send?.("ready");
  void allAreBack().then(() => process.send?.(back));
});
process.on("disconnect", () => process.exit());
await Promise.all(Array.from({ length: atOnce }, connectSome));
process.send?.("connected");
