/** Places of downloads: so many at a time, and a share of them for one address and for one network. */
import { networkOfAddress, sourceOfAddress } from "fleetwright/ports";

/** How many there are. */
export interface PlaceLimits {
  /** At one time in this process; each holds a file open. */
  most: number;
  /** Of these, of one address (of IPv6: one /64). Machines behind one address share them. */
  mostOfSource: number;
  /** Of these, of one network (/24, of IPv6 /48), as one party may well have all of it: so that nobody holds all. */
  mostOfNetwork: number;
}

export class DownloadPlaces {
  readonly #limits: PlaceLimits;
  /** How many are taken, by address and by network. */
  readonly #taken = new Map<string, number>();
  #running = 0;

  constructor(limits: PlaceLimits) {
    this.#limits = limits;
  }

  /**
   * Takes a place. The function returned gives it back, and is called once; null where there is none.
   *
   * @param address - Null: unknown.
   */
  take(address: string | null): (() => void) | null {
    const { most, mostOfSource, mostOfNetwork } = this.#limits;
    const source = `source ${sourceOfAddress(address ?? "")}`;
    const network = `network ${networkOfAddress(address ?? "")}`;
    const isFull =
      this.#running >= most || this.#of(source) >= mostOfSource || this.#of(network) >= mostOfNetwork;
    if (isFull) return null;
    this.#count([source, network], 1);
    return () => this.#count([source, network], -1);
  }

  #of(key: string): number {
    return this.#taken.get(key) ?? 0;
  }

  #count(keys: readonly string[], by: 1 | -1): void {
    this.#running += by;
    for (const key of keys) {
      const now = this.#of(key) + by;
      if (now === 0) this.#taken.delete(key);
      else this.#taken.set(key, now);
    }
  }
}
