/** The file by which others see that a server answers: there from then on until it has stopped. */
import {
  accessSync,
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  rmSync,
  type Stats,
} from "node:fs";
import { dirname } from "node:path";
import {
  FileStorage,
  isOrchestratorError,
  OrchestratorError,
  type FileStorageOptions,
  type Logger,
} from "fleetwright";
import { codeOf } from "../../client/system-error.ts";

/** An empty file that one server makes and removes; of anything else at its path it keeps its hands. */
export class ReadyFile {
  readonly #path: string;
  /** What was written: another server may have put its own there since. */
  #written: Stats | null = null;

  /** @throws {OrchestratorError} `CONFIGURATION_INVALID` where something else is there, or its folder is not there or can't be written. */
  constructor(path: string) {
    this.#path = path;
    this.#change(() => {
      this.#find();
      accessSync(dirname(path), constants.W_OK | constants.X_OK);
    });
  }

  /**
   * Removes what a killed server left, which says nothing of this one. For a server that has the data folder: the file may be that of
   * one that runs before.
   */
  removeLeft(): void {
    this.#change(() => {
      if (this.#find()) rmSync(this.#path);
    });
  }

  /** Makes it. Never through a link or over a file that somebody put there meanwhile. */
  write(): void {
    this.#change(() => {
      const file = openSync(this.#path, "wx");
      this.#written = fstatSync(file);
      closeSync(file);
    });
  }

  /** Removes what was written and is still there. A failure is only logged: the server has ended by then. */
  remove(logger: Logger): void {
    try {
      const there = lstatSync(this.#path, { throwIfNoEntry: false });
      if (there && this.#written && isSame(there, this.#written)) rmSync(this.#path);
    } catch (error) {
      logger.warn("The ready file can't be removed.", { path: this.#path, code: codeOf(error) });
    }
  }

  /** Whether it is there. */
  #find(): boolean {
    const there = lstatSync(this.#path, { throwIfNoEntry: false });
    if (there && !(there.isFile() && there.size === 0)) {
      const message = `--ready-file: ${this.#path} can't be the ready file, for something else is there than an empty file.`;
      throw new OrchestratorError("CONFIGURATION_INVALID", { message });
    }
    return there !== undefined;
  }

  #change(change: () => void): void {
    try {
      change();
    } catch (cause) {
      if (isOrchestratorError(cause)) throw cause;
      const message = `--ready-file: ${this.#path} can't be changed (${codeOf(cause)}).`;
      throw new OrchestratorError("CONFIGURATION_INVALID", { message, cause });
    }
  }
}

/** With the time, since the number of a removed file is used again. */
function isSame(one: Stats, other: Stats): boolean {
  return one.ino === other.ino && one.dev === other.dev && one.birthtimeMs === other.birthtimeMs;
}

/** A data folder that says when it is this process's. */
export class OwnedStorage extends FileStorage {
  readonly #onOpen: () => void;

  /** @param onOpen - Called once no other process can have the folder; what it throws ends the start. */
  constructor(options: FileStorageOptions, onOpen: () => void) {
    super(options);
    this.#onOpen = onOpen;
  }

  override async open(...args: Parameters<FileStorage["open"]>): Promise<void> {
    await super.open(...args);
    try {
      this.#onOpen();
    } catch (error) {
      await this.close();
      throw error;
    }
  }
}
