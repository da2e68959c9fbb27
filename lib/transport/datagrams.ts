/** PORT: single packets into the local network, and the interfaces that they leave by. */

/** One address of a machine. */
export interface LocalAddress {
  /** Name of the interface, e.g. `eth0`. */
  interface: string;
  family: 4 | 6;
  address: string;
  /** Where all on the same link are reached: the IPv4 broadcast address, else the IPv6 address of all nodes. */
  broadcast: string;
  /** Whether packets to it never leave the machine. */
  isLoopback: boolean;
  /** Whether it holds on one link alone: an IPv6 address of fe80::/10. */
  isLinkLocal: boolean;
}

/** Where a packet comes from, or goes to. */
export interface Endpoint {
  /** With the zone behind a % where it is link-local. */
  address: string;
  port: number;
}

/** What a socket is opened with. */
export interface DatagramOptions {
  family: 4 | 6;
  /** Address of this machine to use; default any. */
  address?: string;
  /** Port to listen on, which others may listen on as well; default one that is free. */
  port?: number;
  /** Interface that multicast leaves by. */
  interface?: string;
  /** A packet came, from whomever. Must not throw. */
  heard(packet: Uint8Array, from: Endpoint): void;
}

/** An open socket. */
export interface DatagramSocket {
  /** The address that it is bound to. */
  readonly local: Endpoint;
  /** Resolves when the packet has left; rejects where the system refuses it. */
  send(packet: Uint8Array, to: Endpoint): Promise<void>;
  /** Hears and sends nothing any more. */
  close(): void;
}

/** How a host is reached. */
export interface Route {
  family: 4 | 6;
  /** The address of this machine that packets to it come from. */
  address: string;
  /** Its own address. */
  to: string;
}

/** Sends and hears datagrams. */
export interface Datagrams {
  /** The addresses of this machine, as they are now. */
  addresses(): LocalAddress[];
  /** How a host is reached, without a packet being sent to it; null where it can't be. */
  routeTo(host: string): Promise<Route | null>;
  /** Rejects where the system refuses, e.g. a port that another program holds alone. */
  open(options: DatagramOptions): Promise<DatagramSocket>;
}
