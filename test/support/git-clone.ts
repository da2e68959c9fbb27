/** Clones of the git of this machine, as a resource makes and keeps them. */
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { systemClock } from "../../lib/clock.ts";
import { LocalHost } from "../../lib/host/local-host.ts";
import type { JsonObject } from "../../lib/json.ts";
import type { AppliedResource } from "../../lib/state/run/applied-resource.ts";
import { runState } from "../../lib/state/run/engine.ts";
import { declare } from "./state-fixture.ts";
import { temporaryFolder } from "./temporary-folder.ts";

/** Runs git and gives what it says. */
export function git(cwd: string, ...args: string[]): string {
  const identity = ["-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "init.defaultBranch=main"];
  return execFileSync("git", [...identity, ...args], { cwd, encoding: "utf8", stdio: "pipe" }).trim();
}

/** A clone in a folder of its own, applied and removed by runs that follow each other. */
export function cloneOf(url: string) {
  const folder = temporaryFolder();
  const host = new LocalHost({ stateFolder: join(folder, "state") });
  const path = join(folder, "clone");
  let applied: AppliedResource[] = [];
  const run = async (more: JsonObject | null) => {
    const desired = more === null ? [] : declare([{ type: "git", path, repository: url, ...more }]);
    const { signal } = new AbortController();
    const options = { host, clock: systemClock, signal, timeoutMs: 60_000 };
    const result = await runState({ mode: "apply", desired, applied, ...options });
    ({ applied } = result);
    return result.results[0];
  };
  return { path, folder, run };
}
