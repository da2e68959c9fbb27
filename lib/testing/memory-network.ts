/** A local network in memory, for datagrams between an orchestrator and agents of one process. */
import type { DatagramOptions, Datagrams, DatagramSocket, Endpoint } from "../transport/datagrams.ts";

const freePortsFrom = 49_152;

interface OpenSocket {
  /** Where it hears: its own address, and the broadcast address of its network. */
  addresses: readonly string[];
  port: number;
  heard: DatagramOptions["heard"];
}

/** One network of 256 IPv4 addresses; whoever is on it hears what is sent to its address, or to all. */
export class MemoryNetwork {
  readonly #sockets = new Set<OpenSocket>();
  #nextPort = freePortsFrom;

  /** A machine on the network, e.g. at `192.0.2.7`. Of addresses it has this one alone. */
  machine(address: string): Datagrams {
    const broadcast = address.replace(/\d+$/, "255");
    const own = { interface: "eth0", family: 4, isLoopback: false, isLinkLocal: false } as const;
    return {
      addresses: () => [{ ...own, address, broadcast }],
      routeTo: (to) => Promise.resolve(/^\d+\.\d+\.\d+\.\d+$/.test(to) ? { family: 4, address, to } : null),
      open: ({ family, port, heard }) => {
        if (family === 6) return Promise.reject(new Error("There is no IPv6 here."));
        const open = { addresses: [address, broadcast], port: port ?? this.#nextPort++, heard };
        this.#sockets.add(open);
        return Promise.resolve(this.#toSocket(open, { address, port: open.port }));
      },
    };
  }

  #toSocket(open: OpenSocket, local: Endpoint): DatagramSocket {
    return {
      local,
      send: (packet, to) => {
        // Never in the call that sent it, as on a wire.
        queueMicrotask(() => this.#deliver(Uint8Array.from(packet), { from: local, to }));
        return Promise.resolve();
      },
      close: () => void this.#sockets.delete(open),
    };
  }

  #deliver(packet: Uint8Array, { from, to }: { from: Endpoint; to: Endpoint }): void {
    for (const { addresses, port, heard } of this.#sockets)
      if (port === to.port && addresses.includes(to.address)) heard(packet, from);
  }
}
