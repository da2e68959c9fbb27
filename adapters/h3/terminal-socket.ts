/** Terminals over WebSocket, for those who see them: at `/api/v1/terminal/session/{session_id}/attach`. */
import { OrchestratorError } from "fleetwright";
import type { Orchestrator } from "fleetwright";
import { createSocketHooks } from "./peer-socket.ts";
import type { SocketHooks } from "./sockets.ts";
import type { SourceAddress } from "./source-address.ts";

/** What is spoken there. */
export const terminalProtocol = "fleetwright.terminal.v1";

/** Where a terminal is attached to, below the base path of REST. */
export const terminalPath = "/terminal/session/{session_id}/attach";

/** The hooks for `createApp({ sockets })`. A connection that does not offer the protocol is refused with 400. */
export function createTerminalSocket(
  { terminals }: Pick<Orchestrator, "terminals">,
  sourceAddress?: SourceAddress,
): SocketHooks {
  const accept = createSocketHooks((socket, path) => {
    terminals.accept(socket, path.split("/").at(-2) ?? "");
  }, sourceAddress);
  return {
    ...accept,
    upgrade(request) {
      const offered = (request.headers.get("sec-websocket-protocol") ?? "").split(",");
      if (!offered.some((one) => one.trim() === terminalProtocol)) {
        const { message } = new OrchestratorError("VALIDATION_FAILED");
        return new Response(`${message} The subprotocol must be ${terminalProtocol}.`, { status: 400 });
      }
      return { headers: { "sec-websocket-protocol": terminalProtocol } };
    },
  };
}
