/** Plans, checks and applies on a real machine, each between two marks: `planning-process.ts <folder>`. */
import { mkdirSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "../../lib/clock.ts";
import { LocalHost } from "../../lib/host/local-host.ts";
import type { JsonObject } from "../../lib/json.ts";
import { resolveResource } from "../../lib/state/definition.ts";
import type { ResolvedResource } from "../../lib/state/resource.ts";
import { runState } from "../../lib/state/run/engine.ts";
import type { RunMode } from "../../lib/state/run/state-run.ts";

const folder = process.argv[2] ?? "";
const machine = join(folder, "machine");
mkdirSync(machine);
for (const name of ["same", "other", "left"]) writeFileSync(join(machine, name), "text\n", { mode: 0o644 });

function declare(definition: JsonObject): ResolvedResource {
  const resolution = resolveResource(definition, { module: "m" });
  if (!resolution.ok) throw new Error(JSON.stringify(resolution.issues));
  return resolution.resource;
}

const at = (name: string): string => join(machine, name);
const desired = [
  declare({ type: "file", path: at("same"), content: "text\n" }),
  declare({ type: "file", path: at("other"), content: "new\n", mode: "0600" }),
  declare({ type: "file", path: at("missing"), content: "new\n" }),
  declare({ type: "directory", path: at("folder") }),
  declare({ type: "symlink", path: at("link"), target: "same" }),
  declare({ type: "line", path: at("left"), line: "more" }),
];
const removed = {
  resource: declare({ type: "file", path: at("gone"), content: "x" }),
  prior: { type: "file", spec: { path: at("gone"), ensure: "absent" } },
};
writeFileSync(at("gone"), "x");

const host = new LocalHost({ stateFolder: join(folder, "state") });
for (const mode of ["plan", "check", "apply"] as const satisfies RunMode[]) {
  const { signal } = new AbortController();
  writeSync(1, `begin ${mode}\n`);
  const run = await runState({
    mode,
    desired,
    applied: [removed],
    host,
    clock: systemClock,
    signal,
    timeoutMs: 60_000,
  });
  writeSync(1, `end ${mode} ${run.status}\n`);
}
