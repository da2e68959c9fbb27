/** What is there at once, or must be waited for: most looks at a machine are over before a promise could be made. */
export type MaybeWaiting<T> = T | Promise<T>;

/** Goes on with a value: at once where it is there. */
export function andThen<T, U>(value: MaybeWaiting<T>, use: (value: T) => MaybeWaiting<U>): MaybeWaiting<U> {
  return value instanceof Promise ? value.then(use) : use(value);
}

/** Does something and, when it is over, however it ended, something else. */
export function lastly<T>(act: () => T, end: () => void): T {
  let waits = false;
  try {
    const result = act();
    if (!(result instanceof Promise)) return result;
    waits = true;
    return result.finally(end) as T;
  } finally {
    if (!waits) end();
  }
}

/** Does something; what fails, now or later, goes through `fail`, which throws. */
export function orFail<T>(act: () => T, fail: (error: unknown) => never): T {
  try {
    const result = act();
    return result instanceof Promise ? (result.catch(fail) as T) : result;
  } catch (error) {
    return fail(error);
  }
}
