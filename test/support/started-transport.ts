/** A transport that a test speaks to, with its own ends of what is not looked at. */
import { toTimestamp, type Clock } from "../../lib/clock.ts";
import { nodeCrypto } from "../../lib/crypto/node-crypto.ts";
import { silentLogger } from "../../lib/logger.ts";
import { MemoryTransport } from "../../lib/transport/memory-transport.ts";
import type { SocketTransportOptions } from "../../lib/transport/socket-transport.ts";
import type { TransportHandlers } from "../../lib/transport/transport.ts";

/** Starts one that takes every agent in. */
export async function startTransport(
  clock: Clock,
  handlers: Partial<TransportHandlers>,
  options: SocketTransportOptions = {},
): Promise<MemoryTransport> {
  const transport = new MemoryTransport(options);
  await transport.start(
    {
      clock,
      crypto: nodeCrypto,
      logger: silentLogger,
      signer: nodeCrypto.createSigner(new Uint8Array(32).fill(9)),
      orchestratorTime: () => toTimestamp(clock.now()),
    },
    {
      admit: async () => ({ status: "approved" }),
      connected: async () => {},
      message: async () => {},
      stream: async () => {},
      disconnected: () => {},
      refused: () => {},
      ...handlers,
    },
  );
  return transport;
}
