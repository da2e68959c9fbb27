/** Which known name somebody may have meant by one that is not known. */

/** The nearest of the known names, as {@link nearNames} finds it; null where none is near. */
export function nearName(name: string, known: Iterable<string>): string | null {
  return nearNames(name, known)[0] ?? null;
}

/**
 * The nearest of the known names, several where they are equally near: by the letters that would have to be added, left out, exchanged or
 * swapped with the next. Case, `-` and `_` do not count.
 *
 * @param name - What was typed; where none is near, nothing is found.
 */
export function nearNames(name: string, known: Iterable<string>): string[] {
  const wanted = plain(name);
  if (wanted.length > longestName) return [];
  // One letter of a short name is much of it.
  let nearest = Math.min(3, Math.ceil(wanted.length / 4));
  let found = new Set<string>();
  for (const candidate of known) {
    const distance = distanceOf(wanted, plain(candidate));
    if (distance > nearest) continue;
    if (distance < nearest) found = new Set();
    nearest = distance;
    found.add(candidate);
  }
  return [...found];
}

/** Past this nobody mistyped a name, and comparing would take long. */
const longestName = 100;

function plain(name: string): string {
  return name.toLowerCase().replaceAll(/[-_]/g, "");
}

/** Optimal string alignment: the rows of the table are those of the prefixes of `a`. */
function distanceOf(a: string, b: string): number {
  let earlier: number[] = [];
  let before = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i += 1) {
    const row = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const isSame = a[i - 1] === b[j - 1];
      const isSwapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      row[j] = Math.min(
        before[j]! + 1,
        row[j - 1]! + 1,
        before[j - 1]! + (isSame ? 0 : 1),
        isSwapped ? earlier[j - 2]! + 1 : Infinity,
      );
    }
    earlier = before;
    before = row;
  }
  return before[b.length]!;
}
