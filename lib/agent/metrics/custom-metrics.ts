import { join } from "node:path";
import type { Host } from "../../host/host.ts";
import type { Logger } from "../../logger.ts";
import { OwnersFolder } from "../owners-folder.ts";
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
   */
  async collect(late: Promise<null>): Promise<Values> {
    const found = await Promise.all(
      this.#folder.list().map(async (entry) => {
        const run = (): Promise<string | null> => Promise.race([this.#folder.run(entry), late]);
        return { path: entry.path, text: entry.isProgram ? await run() : this.#folder.read(entry) };
      }),
    );
    const parsed = found.flatMap(({ path, text }) =>
      text === null ? [] : [{ path, ...parsePrometheusText(text, mostSeries) }],
    );
    const givenBy = new Map<string, string>();
    for (const { path, values } of parsed) for (const name of Object.keys(values)) givenBy.set(name, path);
    for (const { path, values, faults } of parsed)
      this.#tell(path, faults + Object.keys(values).filter((name) => givenBy.get(name) !== path).length);
    return Object.assign({}, ...parsed.map(({ values }) => values)) as Values;
  }

  /** Ends the programs that run. */
  stop(): void {
    this.#folder.stop();
  }

  #tell(path: string, faults: number): void {
    const reason = `${faults} of its lines have no value that can be taken, or another line gives the same series.`;
    if (faults > 0) this.#folder.fault(path, reason);
    else this.#folder.used(path);
  }
}
