/** Agents over WebSocket: hands each connection of crossws to a transport as a socket of whole frames. */
import { defineWebSocketHandler, type EventHandler } from "h3";
import { maxFrameBytes } from "fleetwright";
import type { SocketTransport } from "fleetwright";
import { createSocketHooks } from "./peer-socket.ts";
import type { SocketHooks } from "./sockets.ts";
import type { SourceAddress } from "./source-address.ts";

/** `maxPayload` for the crossws of an app that mounts {@link agentSocketHandler}: the largest frame of the agent protocol. */
export const agentSocketMaxPayload: number = maxFrameBytes;

/**
 * The handler for the path that agents dial (`/agent/v1`).
 *
 * The app's crossws must have `maxPayload` of {@link agentSocketMaxPayload} and no `perMessageDeflate`, and needs no `idleTimeout`: the
 * protocol finds silent agents by itself. Hooks are
 * synchronous, so crossws keeps the order of frames. A plain HTTP request is answered with 426.
 */
export function agentSocketHandler(transport: Pick<SocketTransport, "accept">): EventHandler {
  return defineWebSocketHandler(createAgentSocket(transport));
}

/**
 * The hooks behind {@link agentSocketHandler}, for `createApp({ sockets })`.
 *
 * @param sourceAddress - Finds the address that an agent really comes from. Default: the other end of the connection.
 */
export function createAgentSocket(
  transport: Pick<SocketTransport, "accept">,
  sourceAddress?: SourceAddress,
): SocketHooks {
  return {
    ...createSocketHooks((socket) => transport.accept(socket), sourceAddress),
    findsSilentPeers: true,
  };
}
