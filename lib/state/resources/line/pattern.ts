/**
 * Patterns of lines: `*` and `?` and plain text. Not regular expressions, because a module may hold one that takes for
 * ever on a line that it meets on some machine; this takes at most pattern times line.
 */

/** Tells whether a whole line matches. */
export function matchesPattern(pattern: string, text: string): boolean {
  const tokens = tokenize([...pattern]);
  // By characters: one beyond the first 65,536 takes two units of a string.
  const line = [...text];
  let at = 0;
  let token = 0;
  let star = -1;
  let starAt = 0;
  while (at < line.length) {
    const expected = tokens[token];
    if (expected === "*") {
      star = token;
      starAt = at;
      token += 1;
    } else if (expected !== undefined && (expected === "?" || expected === `=${line[at]}`)) {
      token += 1;
      at += 1;
    } else if (star >= 0) {
      // Only the last star need give way: what comes before it matched as early as it could.
      token = star + 1;
      starAt += 1;
      at = starAt;
    } else {
      return false;
    }
  }
  while (tokens[token] === "*") token += 1;
  return token === tokens.length;
}

/** What looking for the lines of a text that match costs at most, in characters that are compared. */
export function patternCost(patterns: readonly string[], text: string): number {
  const lines = text.split("\n").length;
  const costs = patterns.map((pattern) => {
    const [, ...tried] = pattern.split("*");
    // Each line is begun with the whole pattern; what follows a star may be tried at each character.
    return lines * pattern.length + text.length * Math.max(1, ...tried.map(({ length }) => length));
  });
  return costs.reduce((sum, cost) => sum + cost, 0);
}

/** Where something new goes in a text, by patterns. */
interface Insertion {
  insert_after?: string | undefined;
  insert_before?: string | undefined;
}

/** The patterns of a place. */
export function patternsOf({ insert_after, insert_before }: Insertion): string[] {
  return [insert_after, insert_before].filter((pattern) => pattern !== undefined);
}

/** Before which line something new goes: behind the last that matches the one, before the first that matches the other, else at the end. */
export function placeFor(
  { insert_after, insert_before }: Insertion,
  lines: readonly { text: string }[],
): number {
  if (insert_after !== undefined) {
    const at = lines.findLastIndex(({ text }) => matchesPattern(insert_after, text));
    if (at !== -1) return at + 1;
  }
  const at =
    insert_before === undefined ? -1 : lines.findIndex(({ text }) => matchesPattern(insert_before, text));
  return at === -1 ? lines.length : at;
}

/** "*", "?" or "=" and a plain character. */
function tokenize(pattern: readonly string[]): string[] {
  const tokens: string[] = [];
  for (let at = 0; at < pattern.length; at += 1) {
    const character = pattern[at];
    if (character === "*" || character === "?") tokens.push(character);
    else if (character === "\\" && at + 1 < pattern.length) tokens.push(`=${pattern[++at]}`);
    else tokens.push(`=${character}`);
  }
  return tokens;
}
