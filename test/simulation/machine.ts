import type { Clock } from "../../lib/clock.ts";
import type { HostCommand, HostCommandResult } from "../../lib/host/host.ts";
import { MemoryHost } from "../../lib/host/memory-host.ts";

/** One run of the program `work`. */
export interface Work {
  number: number;
  /** Null while it runs, and where the agent died before it ended. */
  ended: "done" | "failed" | "killed" | null;
}

/** A machine that outlives its agents and remembers what was done on it. */
export class Machine {
  readonly host: MemoryHost;
  /** Every run of the program `work`, in order of its start. */
  readonly log: Work[] = [];
  /** Whether work succeeds at once from now on. */
  isHealthy = false;
  readonly #clock: Clock;
  readonly #random: () => number;
  #setting = "";

  constructor(clock: Clock, random: () => number) {
    this.#clock = clock;
    this.#random = random;
    this.host = new MemoryHost({
      programs: {
        work: (command, signal) => this.#work(command, signal),
        "read-setting": () => this.#readSetting(),
      },
    });
    this.host.files.makeDirectory("/etc", {});
  }

  /** Whether a daemon runs with another setting than stands on the disk. */
  get hasOldSetting(): boolean {
    return this.#setting !== this.#settingOnDisk();
  }

  /** Why the log can't be that of a machine on which everything runs once and in order; null where it can. */
  disorder(): string | null {
    const at = this.log.findIndex(({ number }, index) => index > 0 && number <= this.log[index - 1]!.number);
    if (at < 0) return null;
    return `${this.log[at]!.number} ran after ${this.log[at - 1]!.number}`;
  }

  /** The run with a number. */
  find(number: number): Work | undefined {
    return this.log.find((work) => work.number === number);
  }

  async #work({ argv }: HostCommand, signal: AbortSignal): Promise<Partial<HostCommandResult>> {
    const work: Work = { number: Number(argv[1]), ended: null };
    this.log.push(work);
    if (!this.isHealthy) await this.#pause(this.#random() ** 4 * 60_000, signal);
    if (signal.aborted) {
      work.ended = "killed";
      return { exitCode: null, signal: "SIGKILL" };
    }
    const isGood = this.isHealthy || this.#random() < 0.85;
    work.ended = isGood ? "done" : "failed";
    return { exitCode: isGood ? 0 : 3, stdout: `did ${work.number}\n` };
  }

  #readSetting(): Partial<HostCommandResult> {
    if (!this.isHealthy && this.#random() < 0.3) return { exitCode: 4 };
    this.#setting = this.#settingOnDisk();
    return {};
  }

  #settingOnDisk(): string {
    const { files } = this.host;
    return files.stat("/etc/setting") ? Buffer.from(files.readFile("/etc/setting")).toString() : "";
  }

  #pause(ms: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const end = (): void => {
        timer.cancel();
        signal.removeEventListener("abort", end);
        resolve();
      };
      const timer = this.#clock.setTimer(ms, end);
      signal.addEventListener("abort", end, { once: true });
    });
  }
}
