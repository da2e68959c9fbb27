/**
 * Who may have the signature of an announcement checked: a check takes time, and anybody in the network may send packets.
 *
 * There are 600 checks a minute. 60 at most are for packets of one address, and 300 for those of one network, so that who floods leaves room for
 * others; 100 are kept for addresses from which a signed announcement came before, also where a flood names ever other addresses.
 */
import type { Clock } from "../../clock.ts";
import { networkOfAddress, sourceOfAddress } from "../../internal/network.ts";
import { RateLimiter } from "../../internal/rate-limiter.ts";

const perMinute = { all: 500, kept: 100, network: 300, address: 60 };
/** Addresses of which it is remembered that a signed announcement came from there. */
const mostKnown = 100;

export class CheckShares {
  readonly #all: RateLimiter;
  readonly #kept: RateLimiter;
  readonly #networks: RateLimiter;
  readonly #addresses: RateLimiter;
  /** The one that was heard last is last. */
  readonly #known = new Set<string>();

  constructor(clock: Clock) {
    this.#all = new RateLimiter(clock, perMinute.all);
    this.#kept = new RateLimiter(clock, perMinute.kept);
    this.#networks = new RateLimiter(clock, perMinute.network);
    this.#addresses = new RateLimiter(clock, perMinute.address);
  }

  /** Takes a check for a packet from an address where one is left; tells whether. */
  tryTake(address: string): boolean {
    if (!this.#addresses.tryTake(address)) return false;
    if (this.#networks.tryTake(networkOf(address)) && this.#all.tryTake("")) return true;
    return this.#known.has(address) && this.#kept.tryTake("");
  }

  /** A packet from an address was signed as it says. */
  signed(address: string): void {
    this.#known.delete(address);
    this.#known.add(address);
    if (this.#known.size > mostKnown)
      for (const oldest of this.#known) return void this.#known.delete(oldest);
  }
}

/** The /24 of an IPv4 address, and the link of one of IPv6: with its zone, where it holds on that alone. */
function networkOf(address: string): string {
  if (!address.includes(":")) return networkOfAddress(address);
  return `${sourceOfAddress(address)}%${address.split("%")[1] ?? ""}`;
}
