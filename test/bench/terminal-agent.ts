/** An agent that may open terminals, in a process of its own: `terminal-agent.ts <url>`. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createAgent } from "../../lib/agent/agent.ts";

const folder = mkdtempSync(join(tmpdir(), "fleetwright-bench-"));
process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
const [, , url = ""] = process.argv;
await createAgent({ url, stateDir: join(folder, "state") }).start();
process.on("disconnect", () => process.exit());
process.send?.("started");
