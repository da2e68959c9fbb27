/** A terminal that is seen over real WebSockets. */
import { WebSocket } from "ws";
import { createTerminalSocket, terminalPath } from "../../adapters/h3/terminal-socket.ts";
import { openTerminal } from "./open-terminal.ts";
import { serve, type TestServer } from "./server.ts";

/** A terminal of an Operator, and a server that it can be seen through. */
export interface ViewerScene extends AsyncDisposable {
  terminal: Awaited<ReturnType<typeof openTerminal>>;
  server: TestServer;
  /** A new ticket of the one who opened it. */
  ticket(): Promise<string>;
  /** Opens a WebSocket to the terminal, or to another session. */
  connect(options?: { session?: string; protocol?: string; headers?: Record<string, string> }): WebSocket;
}

export async function startViewerScene(): Promise<ViewerScene> {
  const terminal = await openTerminal();
  const { orchestrator } = terminal.test;
  const routes = new Map([[`/api/v1${terminalPath}`, createTerminalSocket(orchestrator)]]);
  const server = await serve(orchestrator, routes);
  const { session_id } = terminal.opened;
  return {
    terminal,
    server,
    async ticket() {
      return (await terminal.terminals.ticket(terminal.operator.caller, { session_id })).ticket;
    },
    connect({ session = session_id, protocol = "fleetwright.terminal.v1", headers = {} } = {}) {
      const url = `ws://127.0.0.1:${server.port}/api/v1/terminal/session/${session}/attach`;
      return new WebSocket(url, protocol === "" ? [] : [protocol], { headers });
    },
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      await terminal[Symbol.asyncDispose]();
    },
  };
}
