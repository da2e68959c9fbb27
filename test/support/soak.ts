/** Whether this is the long run, `npm run soak`. */
export const isSoak = process.env["FLEETWRIGHT_SOAK"] === "1";

/**
 * The seeds of a fault test: 0 to `usual`, or as many as a soak takes, from a start that differs by the day. What
 * FLEETWRIGHT_SEEDS names, as "12-12" or "0-999", goes before both.
 */
export function seedsFor({ usual, soak }: { usual: number; soak: number }): number[] {
  const [first, last] = (process.env["FLEETWRIGHT_SEEDS"] ?? "").split("-").map(Number);
  if (first !== undefined && last !== undefined) return range(first, last - first + 1);
  return isSoak ? range(Math.floor(Date.now() / 86_400_000) * 100_000, soak) : range(0, usual);
}

function range(first: number, count: number): number[] {
  return Array.from({ length: count }, (_, index) => first + index);
}
