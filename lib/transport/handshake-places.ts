/**
 * The places of handshakes, and who gives way where all are taken: whoever holds one for long, or, of those who have just come, one of
 * a network that has more than its share. So a few addresses that begin handshakes and say nothing more don't close the door for all.
 */
import { FairSlots } from "../internal/fair-slots.ts";
import { networkOfAddress } from "../internal/network.ts";

/** How long a handshake may go on before it gives way to another one: the probe of an earlier connection takes 2 s of it. */
const patientMs = 3_000;
/** Of the places, what one network may hold in handshakes that have just begun while those of others find none. */
const shareOfNetwork = 1 / 4;

export class HandshakePlaces<Holder> {
  readonly #most: number;
  readonly #slots = new FairSlots();
  readonly #holders = new Map<string, Holder>();
  readonly #ids = new Map<Holder, string>();
  #taken = 0;

  /** @param most - How many places there are. */
  constructor(most: number) {
    this.#most = most;
  }

  /** Places that are taken. */
  get size(): number {
    return this.#holders.size;
  }

  get isFull(): boolean {
    return this.size >= this.#most;
  }

  /** Those who have places. */
  holders(): Holder[] {
    return [...this.#ids.keys()];
  }

  /** Places that one source holds: an address, of IPv6 a /64. */
  countOf(address: string | null): number {
    return this.#slots.countOf(address);
  }

  /** Gives a place to somebody who has none. */
  take(holder: Holder, address: string | null, nowMs: number): void {
    this.#taken += 1;
    const id = String(this.#taken);
    this.#slots.set(id, address, nowMs);
    this.#holders.set(id, holder);
    this.#ids.set(holder, id);
  }

  /** Takes a place back; false where there was none. */
  free(holder: Holder): boolean {
    const id = this.#ids.get(holder);
    if (id === undefined) return false;
    this.#slots.delete(id);
    this.#holders.delete(id);
    return this.#ids.delete(holder);
  }

  /** Who gives way to one more of an address; null where nobody has to. It keeps its place until it is taken back. */
  giveWay(address: string | null, nowMs: number): Holder | null {
    let isLong = false;
    const id = this.#slots.giveWay(address, ({ seenAt }) => {
      const goesOnForLong = nowMs - seenAt >= patientMs;
      isLong ||= goesOnForLong;
      return goesOnForLong;
    });
    if (id === null) return null;
    return isLong || this.#isCrowdedElsewhere(address) ? (this.#holders.get(id) ?? null) : null;
  }

  /** Within a network the limit of an address does it: a fleet that comes back in one must not end its own handshakes. */
  #isCrowdedElsewhere(address: string | null): boolean {
    const most = this.#slots.mostCrowded();
    if (most === null || most.network === networkOfAddress(address ?? "")) return false;
    return most.count > this.#most * shareOfNetwork;
  }
}
