import { parseSelector } from "./parse.ts";
import type { Selector } from "./selector.ts";

/** How many parsed selectors are kept. */
const keptInMemory = 1000;

/** Parses selectors, each text once for as long as it is remembered. */
export class SelectorCache {
  readonly #parsed = new Map<string, Selector>();

  /** @throws {OrchestratorError} `SELECTOR_INVALID`. */
  parse(text: string): Selector {
    const known = this.#parsed.get(text);
    if (known) return known;
    if (this.#parsed.size >= keptInMemory) this.#parsed.clear();
    const selector = parseSelector(text);
    this.#parsed.set(text, selector);
    return selector;
  }
}
