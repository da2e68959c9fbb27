/** Names that somebody may have meant. */

/** How many are told. */
const mostTold = 3;

/** The names that differ least from what was typed, by so few letters that it may be a slip: one in three of them, three at most. */
export function closest(typed: string, names: readonly string[]): string[] {
  const allowed = Math.min(3, Math.max(1, Math.floor(typed.length / 3)));
  const near = names
    .filter((name) => Math.abs(name.length - typed.length) <= allowed)
    .map((name) => ({ name, distance: editDistance(typed.toLowerCase(), name.toLowerCase()) }))
    .filter(({ distance }) => distance <= allowed);
  const least = Math.min(...near.map(({ distance }) => distance));
  return [...new Set(near.filter(({ distance }) => distance === least).map(({ name }) => name))].slice(
    0,
    mostTold,
  );
}

/** How many letters must be changed, put in, left out or swapped with their neighbour. */
function editDistance(one: string, other: string): number {
  const rows: number[][] = [Array.from({ length: other.length + 1 }, (_, at) => at)];
  for (let i = 1; i <= one.length; i += 1) {
    const row = [i];
    for (let j = 1; j <= other.length; j += 1) {
      const isSame = one[i - 1] === other[j - 1];
      const isSwapped = i > 1 && j > 1 && one[i - 1] === other[j - 2] && one[i - 2] === other[j - 1];
      const at = (r: number, c: number): number => rows[r]?.[c] ?? Infinity;
      row[j] = Math.min(
        at(i - 1, j) + 1,
        (row[j - 1] ?? Infinity) + 1,
        at(i - 1, j - 1) + (isSame ? 0 : 1),
        isSwapped ? at(i - 2, j - 2) + 1 : Infinity,
      );
    }
    rows.push(row);
  }
  return rows[one.length]?.[other.length] ?? Infinity;
}
