/** The surface on a listener: REST, tRPC, the agents' socket, health. */
export { createApp } from "./app.ts";
export type { App, AppOptions } from "./app.ts";
export type { AppReadiness } from "./pages.ts";
export { agentSocketHandler, agentSocketMaxPayload, createAgentSocket } from "./agent-socket.ts";
export { createOrchestratorApp } from "./orchestrator-app.ts";
export type { OrchestratorAppOptions } from "./orchestrator-app.ts";
export { listenApp } from "./serve.ts";
export type { Certificate, ListenAppOptions, ListeningApp } from "./serve.ts";
export { startServer } from "./server.ts";
export type { RunningServer, ServerOptions } from "./server.ts";
export type { SocketHooks, SocketLimits, SocketRoutes, Sockets } from "./sockets.ts";
