/** Datagrams over UDP, with `node:dgram`. */
import { createSocket, type Socket } from "node:dgram";
import { lookup } from "node:dns/promises";
import { isIP, BlockList } from "node:net";
import { networkInterfaces } from "node:os";
import type { DatagramOptions, Datagrams, DatagramSocket, Endpoint, LocalAddress } from "./datagrams.ts";

/** All nodes of a link (RFC 4291, 2.7.1): every machine hears it without having joined. */
const allNodes = "ff02::1";

const linkLocal = new BlockList();
linkLocal.addSubnet("fe80::", 10, "ipv6");

/** UDP of this machine. */
export const udp: Datagrams = {
  addresses() {
    return Object.entries(networkInterfaces()).flatMap(([name, infos]) =>
      (infos ?? []).map(({ address, netmask, internal }): LocalAddress => {
        const isIPv4 = isIP(address) === 4;
        return {
          interface: name,
          family: isIPv4 ? 4 : 6,
          address,
          broadcast: isIPv4 ? broadcastOf(address, netmask) : `${allNodes}%${name}`,
          isLoopback: internal,
          isLinkLocal: !isIPv4 && linkLocal.check(address, "ipv6"),
        };
      }),
    );
  },

  async routeTo(host) {
    const to = await lookup(host).catch(() => null);
    if (to === null) return null;
    const family = to.family === 4 ? 4 : 6;
    const socket = createSocket(family === 4 ? "udp4" : "udp6");
    try {
      await new Promise<void>((resolve, reject) => {
        // Who gives a callback is told of a failure there, and by no event.
        const connected = (error?: Error): void => (error ? reject(error) : resolve());
        socket.once("error", reject);
        // The system looks where a packet would leave; any port will do. Broadcast must be allowed before it looks at such an address.
        socket.bind(0, () => {
          if (family === 4) socket.setBroadcast(true);
          socket.connect(9, to.address, connected);
        });
      });
      return { family, address: socket.address().address, to: to.address };
    } catch {
      return null;
    } finally {
      socket.close();
    }
  },

  async open(options) {
    const socket = createSocket({
      type: options.family === 4 ? "udp4" : "udp6",
      reuseAddr: options.port !== undefined,
      ipv6Only: options.family === 6,
    });
    try {
      await bound(socket, options);
      if (options.family === 4) socket.setBroadcast(true);
      else if (options.interface !== undefined) socket.setMulticastInterface(`::%${options.interface}`);
    } catch (error) {
      socket.close();
      throw error;
    }
    // What the network answers to a packet, such as that nobody listens, is no fault of the socket.
    socket.on("error", () => {});
    socket.on("message", (packet, { address, port }) => options.heard(packet, { address, port }));
    return new UdpSocket(socket);
  },
};

class UdpSocket implements DatagramSocket {
  readonly local: Endpoint;
  readonly #socket: Socket;

  constructor(socket: Socket) {
    this.#socket = socket;
    const { address, port } = socket.address();
    this.local = { address, port };
  }

  send(packet: Uint8Array, { address, port }: Endpoint): Promise<void> {
    return new Promise((resolve, reject) =>
      this.#socket.send(packet, port, address, (error) => (error ? reject(error) : resolve())),
    );
  }

  close(): void {
    this.#socket.close();
  }
}

function bound(socket: Socket, { port = 0, address }: DatagramOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.once("error", reject);
    socket.bind({ port, exclusive: true, ...(address !== undefined && { address }) }, () => {
      socket.off("error", reject);
      resolve();
    });
  });
}

function broadcastOf(address: string, netmask: string): string {
  const mask = netmask.split(".").map(Number);
  return address
    .split(".")
    .map((part, at) => (Number(part) | (~(mask[at] ?? 255) & 255)) & 255)
    .join(".");
}
