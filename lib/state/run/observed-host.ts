/** The host as one try of a resource gets it: it sends on what programs write, and notes what was changed through it. */
import { isOrchestratorError } from "../../errors.ts";
import type {
  BackupOptions,
  ChangeOptions,
  FileAttributes,
  FileChange,
  FileComparison,
  FileDigest,
  FileExtras,
  FileOwner,
  FileStat,
  Host,
  HostBackups,
  HostCommand,
  HostFiles,
  RestoreOptions,
  WriteOptions,
} from "../../host/host.ts";
import { type MaybeWaiting, orFail } from "../../internal/maybe-waiting.ts";
import { pathsOf, type StateItem } from "./state-item.ts";
import type { StateRun } from "./state-run.ts";

/** What a try left on the machine, as far as its calls tell. */
export class Traces {
  readonly #own: readonly string[];
  readonly #paths = new Set<string>();
  #programRan = false;
  /** How the last program that changed something ended; null = none did, or a signal ended it. */
  exitCode: number | null = null;

  /** @param own - Paths that the resource is about. Another that is made and gone again, such as a draft, is no trace. */
  constructor(own: readonly string[]) {
    this.#own = own;
  }

  /**
   * Whether what the resource is about may be different now. Where it says its paths, what is beside them is not it, such as a draft that
   * could not be taken away, or that the program took which was to judge it; a folder above them, that was made on the way, is.
   */
  get any(): boolean {
    if (this.#programRan || this.#own.length === 0) return this.#programRan || this.#paths.size > 0;
    return [...this.#paths].some((path) =>
      this.#own.some((own) => path === own || isBelow(path, own) || isBelow(own, path)),
    );
  }

  /** Whether the resource's own paths may be different now. */
  get own(): boolean {
    return this.#own.some((path) => this.#paths.has(path));
  }

  /** Makes a change of a path. What the machine refuses has changed nothing; of any other error that can't be said. */
  change<T extends MaybeWaiting<unknown>>(path: string, act: () => T): T {
    const value = orFail(act, (error) => {
      if (!isOrchestratorError(error)) this.#paths.add(path);
      throw error;
    });
    if (value instanceof Promise) return value.then((given: unknown) => (this.#paths.add(path), given)) as T;
    this.#paths.add(path);
    return value;
  }

  /** Takes a path away. */
  remove(path: string, act: () => void): void {
    if (!this.#paths.has(path) || this.#own.includes(path)) return this.change(path, act);
    this.#paths.delete(path);
    orFail(act, (error) => {
      // One beside the thing that can't be taken away again is litter, and still not the thing.
      if (this.#own.some((own) => isBelow(path, own))) this.#paths.add(path);
      throw error;
    });
  }

  /** Runs a program that may change anything, unless it can't be started. */
  async run<T extends { exitCode: number | null }>(act: () => Promise<T>): Promise<T> {
    try {
      const result = await act();
      this.#programRan = true;
      this.exitCode = result.exitCode;
      return result;
    } catch (error) {
      if (!isOrchestratorError(error, "HOST_ERROR")) this.#programRan = true;
      throw error;
    }
  }
}

function isBelow(path: string, folder: string): boolean {
  return path.startsWith(folder === "/" ? folder : `${folder}/`);
}

/** The host for one try of an item. */
export function observe(item: StateItem, { host, onOutput }: StateRun): { host: Host; traces: Traces } {
  const { module, resource_id, sensitive } = item.resource;
  const traces = new Traces(item.target ? pathsOf(item.target) : []);
  const listening = (command: HostCommand): HostCommand =>
    // A type that reads the output itself knows that nobody else would care to.
    onOutput && !sensitive && command.asks !== true && command.onOutput === undefined
      ? {
          ...command,
          onOutput: (stream, bytes) => onOutput({ module, resource_id, stream, bytes }),
        }
      : command;
  const observed: Host = {
    platform: host.platform,
    isConfined: host.isConfined,
    mark: host.mark,
    ...(host.workFolder && { workFolder: host.workFolder }),
    ...(host.ownProcess && { ownProcess: host.ownProcess.bind(host) }),
    files: new ObservedFiles(host.files, traces),
    users: host.users,
    backups: new ObservedBackups(host.backups, traces),
    sha256: (content) => host.sha256(content),
    download: (request, signal) => traces.change(request.path, () => host.download(request, signal)),
    barrier: () => host.barrier(),
    async run(command, signal) {
      const act = (): ReturnType<Host["run"]> => host.run(listening(command), signal);
      if (command.asks === true) return act();
      if (command.judges !== true) return traces.run(act);
      const result = await act();
      traces.exitCode = result.exitCode;
      return result;
    },
  };
  return { host: observed, traces };
}

class ObservedFiles implements HostFiles {
  readonly #files: HostFiles;
  readonly #traces: Traces;

  constructor(files: HostFiles, traces: Traces) {
    this.#files = files;
    this.#traces = traces;
  }

  below(folder: string): HostFiles {
    return new ObservedFiles(this.#files.below(folder), this.#traces);
  }

  stat(path: string): FileStat | null {
    return this.#files.stat(path);
  }

  readFile(path: string, expected?: FileStat): Uint8Array {
    return this.#files.readFile(path, expected);
  }

  hashFile(path: string, signal?: AbortSignal): MaybeWaiting<FileDigest> {
    return this.#files.hashFile(path, signal);
  }

  compareFile(path: string, content: Uint8Array): FileComparison {
    return this.#files.compareFile(path, content);
  }

  readLink(path: string): string {
    return this.#files.readLink(path);
  }

  list(path: string): string[] {
    return this.#files.list(path);
  }

  ledBy(path: string): number | null {
    return this.#files.ledBy(path);
  }

  extras(path: string): FileExtras | null {
    return this.#files.extras(path);
  }

  requireChangeable(path: string, change: FileChange, options?: WriteOptions): void {
    this.#files.requireChangeable(path, change, options);
  }

  writeFile(path: string, content: Uint8Array, options: WriteOptions): void {
    this.#traces.change(path, () => this.#files.writeFile(path, content, options));
  }

  makeDirectory(path: string, attributes: FileAttributes): void {
    this.#traces.change(path, () => this.#files.makeDirectory(path, attributes));
  }

  makeSymlink(path: string, target: string, owner?: FileOwner): void {
    this.#traces.change(path, () => this.#files.makeSymlink(path, target, owner));
  }

  move(from: string, to: string): MaybeWaiting<void> {
    return this.#traces.change(to, () => this.#files.move(from, to));
  }

  setAttributes(path: string, attributes: ChangeOptions): MaybeWaiting<void> {
    return this.#traces.change(path, () => this.#files.setAttributes(path, attributes));
  }

  removeFile(path: string): void {
    this.#traces.remove(path, () => this.#files.removeFile(path));
  }

  removeDirectory(path: string): void {
    this.#traces.remove(path, () => this.#files.removeDirectory(path));
  }
}

class ObservedBackups implements HostBackups {
  readonly #backups: HostBackups;
  readonly #traces: Traces;

  constructor(backups: HostBackups, traces: Traces) {
    this.#backups = backups;
    this.#traces = traces;
  }

  below(folder: string): HostBackups {
    return new ObservedBackups(this.#backups.below(folder), this.#traces);
  }

  save(path: string, options?: BackupOptions): MaybeWaiting<FileDigest> {
    return this.#backups.save(path, options);
  }

  sizeBytes(sha256: string): number | null {
    return this.#backups.sizeBytes(sha256);
  }

  read(sha256: string): Uint8Array {
    return this.#backups.read(sha256);
  }

  restore(sha256: string, path: string, options: RestoreOptions): MaybeWaiting<void> {
    return this.#traces.change(path, () => this.#backups.restore(sha256, path, options));
  }

  prune(keep: ReadonlySet<string>): void {
    this.#backups.prune(keep);
  }
}
