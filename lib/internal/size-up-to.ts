/** What a value takes at least, beside the text in it: a few characters as JSON. */
const sizeOfValue = 4;

/**
 * What a value takes in memory or as JSON, near enough: everything in it counts, names too. Where that is more than `most`, something above
 * `most` without a look at the rest: it may come from an agent.
 */
export function sizeUpTo(most: number, value: unknown): number {
  const waiting: unknown[] = [value];
  let size = 0;
  while (waiting.length > 0 && size <= most) {
    const item = waiting.pop();
    size += sizeOfValue;
    if (typeof item === "string") size += item.length;
    else if (typeof item === "object" && item !== null) {
      for (const [name, member] of Object.entries(item)) {
        if (!Array.isArray(item)) size += name.length;
        waiting.push(member);
      }
    }
  }
  return size;
}
