import { nodeCrypto, silentLogger, type Clock } from "fleetwright";
import type { Datagrams } from "fleetwright/ports";
import {
  AnnouncementListener,
  type AnnouncementListenerOptions,
} from "../../lib/agent/discovery/announcement-listener.ts";

/** What an agent that waits to be discovered hears with, on a network of the test. */
export async function startListener(
  datagrams: Datagrams,
  { clock, ...options }: { clock: Clock } & Partial<AnnouncementListenerOptions>,
): Promise<AnnouncementListener> {
  const listener = new AnnouncementListener({
    datagrams,
    clock,
    crypto: nodeCrypto,
    logger: silentLogger,
    random: () => 0,
    port: 4747,
    signer: nodeCrypto.createSigner(nodeCrypto.createSigningKeyPair().secretKey),
    hostname: "db-1",
    agentVersion: "0.1.0",
    pinned: () => null,
    heard: () => {},
    ...options,
  });
  await listener.start();
  return listener;
}
