import type { SecretsKeySource } from "fleetwright";
import type { Storage } from "../../lib/storage/storage.ts";
import { MemorySecretsKey } from "./secrets-key.ts";

/** A process that dies before or after one of the steps that outlive it: commits, removals from logs, and changes of the key. */
export class MortalProcess {
  /** How many of the moments around such steps are left. */
  left = Infinity;
  /** What happens in the last of them, instead of the death: once, and the process lives on where it does not throw. */
  last: (() => Promise<void>) | null = null;
  readonly key: SecretsKeySource;
  readonly storage: Storage;

  constructor(storage: Storage, keys = new MemorySecretsKey()) {
    const mortal = async <Result>(work: () => Promise<Result>): Promise<Result> => {
      await this.#pass();
      const result = await work();
      await this.#pass();
      return result;
    };
    this.key = {
      read: () => keys.read(),
      renew: () => mortal(() => keys.renew()),
      retire: (newest) => mortal(() => keys.retire(newest)),
    };
    this.storage = new Proxy(storage, {
      get(target, name) {
        const member: unknown = Reflect.get(target, name, target);
        if (typeof member !== "function") return member;
        const method = member.bind(target) as (...given: unknown[]) => Promise<unknown>;
        return name === "commit" || name === "trimLog"
          ? (...given: unknown[]) => mortal(() => method(...given))
          : method;
      },
    });
  }

  async #pass(): Promise<void> {
    const { last } = this;
    if (this.left <= 0 && last) {
      this.last = null;
      this.left = Infinity;
      try {
        await last();
      } catch (error) {
        this.left = 0;
        throw error;
      }
    } else if (this.left <= 0) throw new Error("The process was killed.");
    this.left -= 1;
  }
}
