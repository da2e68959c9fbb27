import type { Clock } from "../../lib/clock.ts";
import { type MemoryProgram, MemoryHost } from "../../lib/host/memory-host.ts";
import type { JsonObject } from "../../lib/json.ts";
import { resolveResource } from "../../lib/state/definition.ts";
import type { OwedTrigger } from "../../lib/state/owed.ts";
import type { ResolvedResource } from "../../lib/state/resource.ts";
import type { AppliedResource } from "../../lib/state/run/applied-resource.ts";
import { runState, type StateRunResult } from "../../lib/state/run/engine.ts";
import type { RunMode, StateRunOptions } from "../../lib/state/run/state-run.ts";
import { FakeClock } from "../../lib/testing/fake-clock.ts";
import { memoryShell } from "./memory-shell.ts";

/** Resolves definitions of one module; a fault is an error. */
export function declare(definitions: JsonObject[], module = "m"): ResolvedResource[] {
  return definitions.map((definition) => {
    const resolution = resolveResource(definition, { module });
    if (!resolution.ok) throw new Error(JSON.stringify(resolution.issues));
    return resolution.resource;
  });
}

/** A machine in memory with a small shell and programs of one's own. */
export function createMachine(programs: Record<string, MemoryProgram> = {}): MemoryHost {
  const host: MemoryHost = new MemoryHost({
    users: { root: 0, web: 33 },
    programs: { "/bin/sh": (command) => memoryShell(command, host.files), ...programs },
  });
  return host;
}

/** A machine and what is applied to it, run after run. */
export class StateFixture {
  readonly host: MemoryHost;
  readonly clock: Clock;
  applied: AppliedResource[] = [];
  owed: OwedTrigger[] = [];

  constructor(host: MemoryHost = createMachine(), clock: Clock = new FakeClock()) {
    this.host = host;
    this.clock = clock;
  }

  /** Runs, and keeps what is applied. */
  async run(
    mode: RunMode,
    desired: ResolvedResource[],
    options: Partial<StateRunOptions> = {},
  ): Promise<StateRunResult> {
    const { host, clock, applied, owed } = this;
    const { signal } = new AbortController();
    const result = await runState({
      mode,
      desired,
      applied,
      owed,
      host,
      clock,
      signal,
      timeoutMs: 60_000,
      ...options,
    });
    this.applied = result.applied;
    this.owed = result.owed;
    return result;
  }

  write(path: string, text: string): void {
    this.host.files.writeFile(path, Buffer.from(text), { mode: 0o644 });
  }

  read(path: string): string {
    return Buffer.from(this.host.files.readFile(path)).toString();
  }
}

/** Id and outcome of each result, in order. */
export function outcomes({ results }: StateRunResult): string[] {
  return results.map(({ resource_id, outcome }) => `${resource_id} ${outcome}`);
}
