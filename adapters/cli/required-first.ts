/**
 * Uploads modules in the order in which they are given, but for one that requires another of them that comes later: it waits for
 * that.
 *
 * @param isEarly - Whether a refusal says that nothing is wrong with a module but what it requires.
 */
export async function uploadRequiredFirst<T>(
  modules: readonly T[],
  upload: (module: T) => Promise<void>,
  isEarly: (refusal: unknown) => boolean,
): Promise<void> {
  let waiting = modules;
  while (waiting.length > 0) {
    const left: T[] = [];
    let first: unknown;
    for (const module of waiting) {
      try {
        await upload(module);
      } catch (refusal) {
        if (!isEarly(refusal)) throw refusal;
        first ??= refusal;
        left.push(module);
      }
    }
    if (left.length === waiting.length) throw first;
    waiting = left;
  }
}
