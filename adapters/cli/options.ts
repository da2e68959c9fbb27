/** Values of options, read strictly. */
import { InvalidArgumentError } from "commander";

/** Reads a whole number within bounds. */
export function integer(minimum: number, maximum: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (!/^\d+$/.test(text) || value < minimum || value > maximum) {
      throw new InvalidArgumentError(`Not a whole number from ${minimum} to ${maximum}.`);
    }
    return value;
  };
}

/** Gathers an option that may be given more than once, or with commas. */
export function gather(text: string, before: readonly string[] = []): string[] {
  return [...before, ...text.split(",").map((part) => part.trim())];
}

/** Description of `--limit` and how it is read. */
export const limitOption = ["--limit <number>", "show at most so many", integer(1, 100_000)] as const;
