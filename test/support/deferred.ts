/** A promise and what settles it. */
export interface Deferred<T = void> {
  promise: Promise<T>;
  resolve: (value: T) => void;
}

/** Makes a promise that is settled from outside. */
export function deferred<T = void>(): Deferred<T> {
  let resolve: (value: T) => void = () => {};
  const promise = new Promise<T>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}

/** Lets every promise that can settle without time or I/O do so. */
export function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** The same for work of many steps. */
export async function settleAll(): Promise<void> {
  for (let turn = 0; turn < 100; turn += 1) await settle();
}
