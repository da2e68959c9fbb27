import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "../../../lib/clock.ts";
import type { Host } from "../../../lib/host/host.ts";
import { LocalHost } from "../../../lib/host/local-host.ts";
import type { JsonObject } from "../../../lib/internal/json.ts";
import { runState, type StateRunResult } from "../../../lib/state/engine.ts";
import type { AppliedResource } from "../../../lib/state/state-item.ts";
import type { RunMode } from "../../../lib/state/state-run.ts";
import { declare } from "../state-fixture.ts";

/** This machine, all of it, and what is applied to it. */
export class RealState implements Disposable {
  readonly folder = mkdtempSync(join(tmpdir(), "fleetwright-real-"));
  readonly host: Host;
  applied: AppliedResource[] = [];

  constructor(wrap: (host: Host) => Host = (host) => host) {
    this.host = wrap(new LocalHost({ stateFolder: join(this.folder, "state") }));
  }

  /** Runs, and keeps what is applied. */
  async run(mode: RunMode, definitions: JsonObject[]): Promise<StateRunResult> {
    const result = await runState({
      mode,
      desired: declare(definitions),
      applied: this.applied,
      host: this.host,
      clock: systemClock,
      signal: new AbortController().signal,
      timeoutMs: 120_000,
    });
    this.applied = result.applied;
    return result;
  }

  /** Applies, and says what came of each: "id outcome", with the message of a failure. */
  async apply(definitions: JsonObject[]): Promise<string[]> {
    const { results } = await this.run("apply", definitions);
    return results.map(({ resource_id, outcome, action, code, message }) =>
      outcome === "failed" ? `${resource_id} ${code}: ${message}` : `${resource_id} ${outcome} ${action}`,
    );
  }

  [Symbol.dispose](): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}
