import { createSocketPair } from "./memory-socket.ts";
import { SocketTransport } from "./socket-transport.ts";
import type { FrameSocket } from "./socket.ts";

/**
 * A transport inside the process, for an orchestrator that embeds its agents and for tests. The protocol is the real one,
 * handshake and sealing included; only the network is left out.
 */
export class MemoryTransport extends SocketTransport {
  /** The agent's end of a new connection; give it to an agent as what it dials. Before `start` it is closed at once. */
  connect(): FrameSocket {
    const [agentEnd, orchestratorEnd] = createSocketPair();
    this.accept(orchestratorEnd);
    return agentEnd;
  }
}
