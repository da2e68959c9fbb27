import { join } from "node:path";
import type { Host } from "../../host/host.ts";
import type { Logger } from "../../logger.ts";
import { type OwnersEntry, OwnersFolder } from "../owners-folder.ts";
import type { Values } from "./measured-machine.ts";
import { parsePrometheusText } from "./prometheus-text.ts";
import { mostSeries } from "./series-name.ts";

/** What the owner of the machine measures: `metrics.d`, with `*.prom` files and programs that print the same. */
export class CustomMetrics {
  readonly #folder: OwnersFolder;

  constructor({ stateDir, ...options }: { stateDir: string; host: Host; logger: Logger }) {
    this.#folder = new OwnersFolder({ ...options, folder: join(stateDir, "metrics.d"), suffix: ".prom" });
  }

  /**
   * The values of now: of files as they stand there, of programs what they print, all at once. Of values with the
   * same name that of the last entry counts, as with attributes, and the log says of the others that they are left out.
   *
   * @param late - Resolves when it is too late: what a program has not printed by then is left out.
   * @param others - What else the sample has: it comes first where there is no room for all.
   */
  async collect(late: Promise<null>, others: Promise<Values> = Promise.resolve({})): Promise<Values> {
    const found = await Promise.all(
      this.#folder.list().map(async (entry) => {
        return {
          path: entry.path,
          text: await (entry.isProgram ? this.#run(entry, late) : this.#folder.read(entry)),
        };
      }),
    );
    // All of them: what there is no room for is told apart from what can't be read. A text has a bound of its own.
    const parsed = found.flatMap(({ path, text }) =>
      text === null ? [] : [{ path, ...parsePrometheusText(text, Infinity) }],
    );
    const givenBy = new Map<string, string>();
    for (const { path, values } of parsed) for (const name of Object.keys(values)) givenBy.set(name, path);
    const room = mostSeries - Object.values(await others).filter(Number.isFinite).length;
    const surplus = new Set([...givenBy.keys()].slice(Math.max(0, room)));
    for (const { path, values, faults } of parsed) {
      const names = Object.keys(values);
      const replaced = names.filter((name) => givenBy.get(name) !== path);
      const left = names.filter((name) => surplus.has(name) && givenBy.get(name) === path);
      this.#tell(path, { faults: faults + replaced.length, surplus: left.length });
    }
    return Object.assign({}, ...parsed.map(({ values }) => values)) as Values;
  }

  /** Ends the programs that run. */
  stop(): void {
    this.#folder.stop();
  }

  /** What a program prints; null where it fails, or ends too late for this sample. */
  #run(entry: OwnersEntry, late: Promise<null>): Promise<string | null> {
    let isOver = false;
    void late.then(() => (isOver = true));
    const printed = this.#folder.run(entry).then((text) => {
      if (text !== null && isOver)
        this.#folder.fault(entry.path, "It took longer than half of the time from one sample to the next.");
      return text;
    });
    return Promise.race([printed, late]);
  }

  #tell(path: string, { faults, surplus }: { faults: number; surplus: number }): void {
    const unread = `${faults} of its lines have no value that can be taken, or another line gives the same series.`;
    const unplaced = `${surplus} of its series are past the ${mostSeries} that a sample may have.`;
    const reasons = [...(faults > 0 ? [unread] : []), ...(surplus > 0 ? [unplaced] : [])];
    if (reasons.length > 0) this.#folder.fault(path, reasons.join(" "));
    else this.#folder.used(path);
  }
}
