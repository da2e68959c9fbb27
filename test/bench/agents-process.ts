/** Simulated agents in a process of their own, so that their work is not the server's: `agents-process.ts <url> <agents> <resources>`. Asked anything, it tells how often one was taken in. */
import { dialWebSocket } from "../../lib/agent/websocket-dial.ts";
import { createResults, createSimulatedAgent } from "./simulated-agent.ts";

const [, , url = "", agents = "", resources = ""] = process.argv;
const results = createResults(Number(resources));
/** The server takes 64 handshakes of one address at a time. */
const atOnce = 48;

let next = 0;
let accepted = 0;
async function connectSome(): Promise<void> {
  while (next < Number(agents)) {
    const number = next++;
    await new Promise<void>((resolve) => {
      const onAccepted = (): void => {
        accepted += 1;
        resolve();
      };
      createSimulatedAgent({ number, results, dial: () => dialWebSocket(url), onAccepted }).start();
    });
  }
}
await Promise.all(Array.from({ length: atOnce }, connectSome));
process.send?.("connected");
process.on("message", () => process.send?.(accepted));
process.on("disconnect", () => process.exit());
