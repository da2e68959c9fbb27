/** Which announcements are sent, and where: one for each address of the machine that agents can connect to. */
import type { ServedAt } from "../served-at.ts";
import type { LocalAddress } from "../transport/datagrams.ts";

/** One announcement to send. */
export interface PlannedAnnouncement {
  family: 4 | 6;
  /** Address of this machine to send from. */
  from: string;
  interface: string;
  /** Where to. */
  to: string;
  /** Where agents are told to connect. */
  url: string;
}

/**
 * The announcements to all networks of a machine.
 *
 * @param url - Where agents connect, whatever network they are in; null tells each network the server's own address there, and none
 *   where it has none.
 */
export function planAnnouncements(
  addresses: readonly LocalAddress[],
  { url, served }: { url: string | null; served: ServedAt | null },
): PlannedAnnouncement[] {
  return addresses.flatMap((local): PlannedAnnouncement[] => {
    // Multicast is sent from the address that each interface has on its link alone, once.
    if (local.family === 6 && (!local.isLinkLocal || local.isLoopback)) return [];
    const there = addresses.filter((other) => other.interface === local.interface);
    const told = url ?? ownUrl([local, ...there], served);
    if (told === null) return [];
    return [
      {
        family: local.family,
        from: local.isLinkLocal ? `${local.address}%${local.interface}` : local.address,
        interface: local.interface,
        to: local.broadcast,
        url: told,
      },
    ];
  });
}

/** The address for agents at the first of some addresses that the server listens on, and that can be written down. */
export function ownUrl(
  addresses: readonly Pick<LocalAddress, "address" | "family" | "isLinkLocal">[],
  served: ServedAt | null,
): string | null {
  if (served === null) return null;
  const { host, port, isSecure, path } = served;
  const listens = addresses.find(
    ({ address, family, isLinkLocal }) =>
      !isLinkLocal && (host === address || host === "::" || (host === "0.0.0.0" && family === 4)),
  );
  if (!listens) return null;
  const name = listens.family === 6 ? `[${listens.address}]` : listens.address;
  return `${isSecure ? "wss" : "ws"}://${name}:${port}${path}`;
}
