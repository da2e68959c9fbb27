/** What an operation tells while it runs, as lines for people. */
import type { Operation, OperationWatchItem, ResourceResult } from "fleetwright";
import { describeNext, describeOutcome, describeResults } from "./show-results.ts";
import { toLine, toLines, toSafeText } from "./text.ts";

type Output = Extract<OperationWatchItem, { type: "output" }>;

/**
 * Widths of the columns of symbol with type, identity and action: resources come one by one, and nobody knows how long the next are. What is
 * longer sticks out.
 */
const columnWidths = [14, 30, 7] as const;

/** Keeps what was shown: a connection that broke off is told everything again, and people are not. */
export class LiveProgress {
  readonly #resources = new Set<string>();
  /** Output as it was shown, and as it was told since the connection was opened. */
  readonly #shown = new Map<string, string>();
  readonly #told = new Map<string, string>();
  readonly #next: (operation: Operation) => string[];
  #begun = false;

  /** @param next - Lines that say what can be done with the operation, once it has ended. */
  constructor(next: (operation: Operation) => string[] = describeNext) {
    this.#next = next;
  }

  /** The text to show for an item; empty where there is nothing new. */
  tell(item: OperationWatchItem): string {
    switch (item.type) {
      case "operation":
        this.#told.clear();
        return this.#begin(`${item.operation.agent_name}: ${item.operation.kind}`);
      case "resources":
        return toLines(
          describeResults(
            item.resources.filter((result) => this.#isNew(result)),
            columnWidths,
          ),
        );
      case "output":
        return this.#output(item);
      case "ended":
        return (
          this.#restOfOutput() +
          toLines([
            describeOutcome(item.operation),
            `  operation ${item.operation.operation_id}`,
            ...this.#next(item.operation),
          ])
        );
    }
  }

  #begin(line: string): string {
    if (this.#begun) return "";
    this.#begun = true;
    return toLines([toLine(line)]);
  }

  #isNew({ module, resource_id, identity, action }: ResourceResult): boolean {
    const key = JSON.stringify([module, resource_id, identity, action]);
    if (this.#resources.has(key)) return false;
    this.#resources.add(key);
    return true;
  }

  /** Whole lines as far as they are there; the rest of the last one comes with what follows, or at the end. */
  #output({ output, replaces }: Output): string {
    return output
      .map(({ module, resource_id, stream, text }) => {
        const key = JSON.stringify([module, resource_id, stream]);
        const told = replaces ? text : (this.#told.get(key) ?? "") + text;
        this.#told.set(key, told);
        const shown = this.#shown.get(key) ?? "";
        const whole = told.slice(0, told.lastIndexOf("\n") + 1);
        if (shown.startsWith(whole)) return "";
        this.#shown.set(key, whole);
        return toOutputLines(resource_id, whole.startsWith(shown) ? whole.slice(shown.length) : whole);
      })
      .join("");
  }

  /** Last lines that nothing ended. */
  #restOfOutput(): string {
    return [...this.#told]
      .map(([key, told]) => {
        const rest = told.slice(this.#shown.get(key)?.length ?? 0);
        return rest === "" ? "" : toOutputLines(resourceOf(key), rest);
      })
      .join("");
  }
}

function toOutputLines(resourceId: string, text: string): string {
  const lines = text.replace(/\n$/, "").split("\n").map(asOnTerminal);
  return toLines(lines.map((line) => `    ${toLine(resourceId)} | ${toSafeText(line)}`));
}

/** What a line leaves to read where a program wrote over it again and again, as those that count percents do. */
export function asOnTerminal(line: string): string {
  let end = line.length;
  while (line[end - 1] === "\r") end -= 1;
  return line.slice(line.lastIndexOf("\r", end - 1) + 1, end);
}

function resourceOf(key: string): string {
  return (JSON.parse(key) as string[])[1] ?? "";
}
