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
   * The values of now: of files as they stand there, of programs what they print, all at once.
   *
   * @param late - Resolves when it is too late: what a program has not printed by then is left out.
   */
  async collect(late: Promise<null>): Promise<Values> {
    const found = await Promise.all(
      this.#folder.list().map(async (entry) => {
        const run = (): Promise<string | null> => Promise.race([this.#folder.run(entry), late]);
        const text = entry.isProgram ? await run() : this.#folder.read(entry);
        return text === null ? {} : this.#parse(entry.path, text);
      }),
    );
    return Object.assign({}, ...found) as Values;
  }

  /** Ends the programs that run. */
  stop(): void {
    this.#folder.stop();
  }

  #parse(path: string, text: string): Values {
    const { values, faults } = parsePrometheusText(text, mostSeries);
    if (faults > 0) this.#folder.fault(path, `${faults} of its lines have no value that can be taken.`);
    else this.#folder.used(path);
    return values;
  }
}
