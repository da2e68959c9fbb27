/** Real agents in a process of their own: `agents-process.ts <url> <folder> <count>`. Each has a folder for its machine. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { createAgent } from "../../lib/agent/agent.ts";

const [url = "", folder = "", count = "0"] = process.argv.slice(2);
for (let n = 0; n < Number(count); n++) {
  const root = join(folder, `agent-${n}`, "root");
  mkdirSync(root, { recursive: true });
  const agent = createAgent({ url, stateDir: join(folder, `agent-${n}`, "state"), root });
  await agent.start();
}
process.stdout.write("started\n");
// Timers of the clock don't keep a process alive.
setInterval(() => {}, 60_000);
