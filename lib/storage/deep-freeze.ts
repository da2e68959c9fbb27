/** Makes a JSON value of our own and all in it unchangeable, however deep it is: what was stored must be readable. */
export function deepFreeze<T extends object>(value: T): T {
  const waiting: object[] = [value];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    Object.freeze(next);
    for (const member of Object.values(next) as unknown[]) {
      if (typeof member === "object" && member !== null) waiting.push(member);
    }
  }
  return value;
}
