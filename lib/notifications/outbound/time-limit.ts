import type { Clock } from "../../clock.ts";
import { OutboundFault } from "./fault.ts";

/** Most time for a part of an attempt. `dispose` it when the part is over. */
export class TimeLimit implements Disposable {
  readonly #controller = new AbortController();
  readonly #end: () => void;

  /** @param within - Ends this limit too, with its reason. */
  constructor(
    clock: Clock,
    ms: number,
    { within, error }: { within?: AbortSignal | undefined; error: string },
  ) {
    const timer = clock.setTimer(ms, () => this.#controller.abort(new OutboundFault(error)));
    const stop = (): void => {
      const known = within?.reason instanceof OutboundFault;
      this.#controller.abort(known ? within.reason : new OutboundFault("the attempt was stopped"));
    };
    if (within?.aborted) stop();
    within?.addEventListener("abort", stop, { once: true });
    this.#end = () => {
      timer.cancel();
      within?.removeEventListener("abort", stop);
    };
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  [Symbol.dispose](): void {
    this.#end();
  }
}

/** Settles as a promise does, or rejects with the reason of a signal as soon as it is aborted. */
export function orAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = (): void => reject(signal.reason as Error);
    if (signal.aborted) stop();
    signal.addEventListener("abort", stop, { once: true });
    void promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", stop));
  });
}
