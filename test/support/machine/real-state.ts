import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "../../../lib/clock.ts";
import type { Host } from "../../../lib/host/host.ts";
import { LocalHost } from "../../../lib/host/local-host.ts";
import type { JsonObject } from "../../../lib/json.ts";
import type { AppliedResource } from "../../../lib/state/run/applied-resource.ts";
import { runState, type StateRunResult } from "../../../lib/state/run/engine.ts";
import type { RunMode } from "../../../lib/state/run/state-run.ts";
import { declare } from "../state-fixture.ts";

/** How much of this machine is used. */
export interface RealStateOptions {
  /** Folders of a root folder to be made for it, e.g. "etc": its files stay below. Default: the whole machine. */
  rootFolders?: readonly string[];
  /** Words put before each command, e.g. to run it in a namespace. */
  enter?: readonly [string, ...string[]];
  /** Another machine than this one. */
  host?: Host;
}

/** This machine, and what is applied to it. Removes its own folder. */
export class RealState implements Disposable {
  readonly folder = mkdtempSync(join(tmpdir(), "fleetwright-real-"));
  /** The folder that stands for `/`. */
  readonly root: string;
  readonly #host: Host;
  #applied: AppliedResource[] = [];

  constructor({ rootFolders, enter, host }: RealStateOptions = {}) {
    this.root = rootFolders ? join(this.folder, "root") : "/";
    for (const path of rootFolders ?? []) mkdirSync(join(this.root, path), { recursive: true });
    const local = new LocalHost({ root: this.root, stateFolder: join(this.folder, "state") });
    this.#host = host ?? (enter ? entering(local, enter) : local);
  }

  /** Runs, and keeps what is applied. */
  async run(mode: RunMode, definitions: JsonObject[]): Promise<StateRunResult> {
    const result = await runState({
      mode,
      desired: declare(definitions),
      applied: this.#applied,
      host: this.#host,
      clock: systemClock,
      signal: new AbortController().signal,
      timeoutMs: 120_000,
    });
    this.#applied = result.applied;
    return result;
  }

  /** Applies, and says what came of each: "id outcome action", or the code and message of a failure. */
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

function entering(host: Host, enter: readonly [string, ...string[]]): Host {
  const { platform, files, users, backups } = host;
  return {
    platform,
    // The programs are contained as well, by what they are run with.
    isConfined: false,
    mark: host.mark,
    ...(host.workFolder && { workFolder: host.workFolder }),
    files,
    users,
    backups,
    sha256: (content) => host.sha256(content),
    run: (command, signal) => host.run({ ...command, argv: [...enter, ...command.argv] }, signal),
    download: (request, signal) => host.download(request, signal),
    ...(host.askDownload && {
      askDownload: (question, signal) => host.askDownload?.(question, signal) ?? Promise.resolve(null),
    }),
    barrier: () => host.barrier(),
  };
}
