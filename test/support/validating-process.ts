/** Writes a file whose judge kills this process: `validating-process.ts <folder>`. */
import { join } from "node:path";
import { systemClock } from "../../lib/clock.ts";
import { LocalHost } from "../../lib/host/local-host.ts";
import { resolveResource } from "../../lib/state/definition.ts";
import { runState } from "../../lib/state/run/engine.ts";

const folder = process.argv[2] ?? "";
const definition = {
  id: "f",
  type: "file",
  path: join(folder, "conf"),
  content: "new",
  validate: ["sh", "-c", 'kill -9 "$0"', String(process.pid), "%"],
};
const resolution = resolveResource(definition, { module: "m" });
if (!resolution.ok) throw new Error(JSON.stringify(resolution.issues));
await runState({
  mode: "apply",
  desired: [resolution.resource],
  applied: [],
  host: new LocalHost({ stateFolder: join(folder, "state") }),
  clock: systemClock,
  signal: new AbortController().signal,
  timeoutMs: 60_000,
});
