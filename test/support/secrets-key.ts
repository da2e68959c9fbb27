import type { SecretsKeySource } from "fleetwright";

/** Keys that are kept in memory: the first is 32 bytes of 1, the next of 2, and so on. */
export class MemorySecretsKey implements SecretsKeySource {
  /** The newest first. */
  keys: Uint8Array[];
  #made: number;

  /** @param made - How many there were already. */
  constructor(made = 0) {
    this.#made = made;
    this.keys = made > 0 ? [numberedKey(made)] : [];
  }

  async read(): Promise<readonly Uint8Array[]> {
    return this.keys;
  }

  async renew(): Promise<void> {
    this.keys = [numberedKey((this.#made += 1)), ...this.keys];
  }

  async retire(newest: Uint8Array): Promise<void> {
    const kept = this.keys.findIndex((key) => key[0] === newest[0]) + 1;
    if (kept > 0) this.keys = this.keys.slice(0, kept);
  }
}

/** A key that is told from others by its number. */
export function numberedKey(number: number): Uint8Array {
  return new Uint8Array(32).fill(number);
}
