import { isOrchestratorError, OrchestratorError } from "../errors.ts";
import { BoundedCache } from "../internal/bounded-cache.ts";
import { parseKeptSelector, parseSelector } from "./parse.ts";
import { toKeptSelector } from "./print.ts";
import type { Selector } from "./selector.ts";

/** How many parsed selectors are kept. */
const keptInMemory = 1000;

/** Parses selectors, each text once for as long as it is remembered. */
export class SelectorCache {
  readonly #parsed = new BoundedCache<Selector>({ entries: keptInMemory });
  /** Apart, so that nobody is taken at a text past the limits because it is stored somewhere. */
  readonly #kept = new BoundedCache<Selector>({ entries: keptInMemory });

  /** @throws {OrchestratorError} `SELECTOR_INVALID`, which points at the field: every input that has a selector calls it so. */
  parse(text: string): Selector {
    const known = this.#parsed.get(text);
    if (known) return known;
    const selector = parseField(text);
    this.#parsed.set(text, selector);
    return selector;
  }

  /** Reads a selector that is stored, or that a program printed: without limits. */
  kept(text: string): Selector {
    const known = this.#kept.get(text);
    if (known) return known;
    const selector = parseKeptSelector(text);
    this.#kept.set(text, selector);
    return selector;
  }

  /** How a selector of a caller is stored, see {@link toKeptSelector}. `SELECTOR_INVALID`, as {@link parse}. */
  toKept(text: string): string {
    this.parse(text);
    return toKeptSelector(text);
  }
}

function parseField(text: string): Selector {
  try {
    return parseSelector(text);
  } catch (error) {
    if (!isOrchestratorError(error, "SELECTOR_INVALID")) throw error;
    const issues = error.issues.map((issue) => ({ ...issue, path: ["selector", ...issue.path] }));
    throw new OrchestratorError("SELECTOR_INVALID", { message: error.message, issues, cause: error });
  }
}
