/**
 * Slots that strangers take, and who gives way where all are taken.
 *
 *   network (/24, /48) ─┬─ address (IPv6: /64) ─┬─ who came from there
 *
 * Whoever comes from where fewer are takes a slot of where most are, so that nobody closes the door for others, however
 * many names he makes up: of the most crowded network, there of the most crowded address.
 */
import { networkOfAddress, sourceOfAddress } from "./network.ts";

/** Somebody with a slot. */
export interface SlotHolder {
  id: string;
  /** When he was last seen, milliseconds. */
  seenAt: number;
}

/** Those of one address, in the order in which they came. */
type Address = Map<string, number>;
type Network = Map<string, Address>;

/** Who has slots. Looking for somebody who gives way costs as much as there are slots. */
export class FairSlots {
  readonly #networks = new Map<string, Network>();
  readonly #addresses = new Map<string, string>();

  /** How many slots are taken. */
  get size(): number {
    return this.#addresses.size;
  }

  /** Who has a slot. */
  ids(): string[] {
    return [...this.#addresses.keys()];
  }

  /** Who has a slot, and from where. */
  entries(): [id: string, address: string][] {
    return [...this.#addresses];
  }

  /** Where somebody with a slot came from; undefined where he has none. */
  addressOf(id: string): string | undefined {
    return this.#addresses.get(id);
  }

  /** Slots of an address, of IPv6 of its /64. */
  countOf(address: string | null): number {
    const from = address ?? "";
    return this.#networks.get(networkOfAddress(from))?.get(sourceOfAddress(from))?.size ?? 0;
  }

  /** Gives somebody a slot, or notes where and when he was seen since. */
  set(id: string, address: string | null, seenAt: number): void {
    const from = address ?? "";
    const known = this.#addresses.get(id);
    if (known !== undefined && known !== from) this.delete(id);
    this.#addresses.set(id, from);
    const network = this.#networks.get(networkOfAddress(from)) ?? new Map<string, Address>();
    const holders = network.get(sourceOfAddress(from)) ?? new Map<string, number>();
    this.#networks.set(networkOfAddress(from), network.set(sourceOfAddress(from), holders.set(id, seenAt)));
  }

  /** Takes somebody's slot away. */
  delete(id: string): void {
    const from = this.#addresses.get(id);
    if (from === undefined) return;
    this.#addresses.delete(id);
    const network = this.#networks.get(networkOfAddress(from))!;
    const holders = network.get(sourceOfAddress(from))!;
    holders.delete(id);
    if (holders.size === 0) network.delete(sourceOfAddress(from));
    if (network.size === 0) this.#networks.delete(networkOfAddress(from));
  }

  /** The network with most places, and how many; null where nobody has one. */
  mostCrowded(): { network: string; count: number } | null {
    const most = largest(this.#networks, ([, network]) => sizeOf(network));
    return most && { network: most[0], count: sizeOf(most[1]) };
  }

  /**
   * Who gives way to one more of an address. Of those who are where most are, who has been away for longest; where nobody is away,
   * the last that came, unless that would only turn the tables. Null where nobody has to.
   */
  giveWay(address: string | null, isAway: (holder: SlotHolder) => boolean): string | null {
    const from = address ?? "";
    const own = this.#networks.get(networkOfAddress(from)) ?? new Map<string, Address>();
    const crowded = largest(this.#networks.values(), sizeOf);
    const isAmongOwn = crowded === null || sizeOf(crowded) <= sizeOf(own);
    const ownAddress = own.get(sourceOfAddress(from)) ?? new Map<string, number>();
    const most = largest((isAmongOwn ? own : crowded).values(), ({ size }) => size);
    if (most === null) return null;
    const [theirs, ours] = isAmongOwn ? [most.size, ownAddress.size] : [sizeOf(crowded), sizeOf(own)];
    const holders = theirs > ours ? most : ownAddress;
    return longestAway(holders, isAway) ?? (theirs > ours + 1 ? ([...holders.keys()].at(-1) ?? null) : null);
  }
}

function sizeOf(network: Network): number {
  let size = 0;
  for (const holders of network.values()) size += holders.size;
  return size;
}

function largest<Item>(items: Iterable<Item>, measure: (item: Item) => number): Item | null {
  let found: Item | null = null;
  for (const item of items) if (found === null || measure(item) > measure(found)) found = item;
  return found;
}

function longestAway(holders: Address, isAway: (holder: SlotHolder) => boolean): string | null {
  let found: SlotHolder | null = null;
  for (const [id, seenAt] of holders)
    if ((found === null || seenAt < found.seenAt) && isAway({ id, seenAt })) found = { id, seenAt };
  return found?.id ?? null;
}
