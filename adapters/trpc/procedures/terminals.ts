import { schemas } from "fleetwright";
import type { OpenedTerminal } from "fleetwright";
import { procedure, route, t } from "./builder.ts";
import { toByteStream } from "./byte-stream.ts";

const tag = "Terminal";
const asciicast = "application/x-asciicast";
const plainText = "text/plain; charset=utf-8";

export const terminalProcedures = t.router({
  list: procedure
    .meta(
      route("terminals.list", "GET /terminal", {
        tag,
        summary: "List terminal sessions",
        description: "Newest first: who was on which machine, when, and how it ended.",
        problems: ["CURSOR_INVALID"],
      }),
    )
    .input(schemas.listTerminalsInput)
    .output(schemas.terminalPageSchema)
    .query(async ({ ctx, input }) => ctx.orchestrator.terminals.list(await ctx.caller(), input)),
  get: procedure
    .meta(
      route("terminals.get", "GET /terminal/session/{session_id}", {
        tag,
        summary: "Get session metadata",
        description: "How a terminal stands, or how it ended and what is kept of it.",
      }),
    )
    .input(schemas.terminalIdInput)
    .output(schemas.terminalSchema)
    .query(async ({ ctx, input }) => ctx.orchestrator.terminals.get(await ctx.caller(), input)),
  open: procedure
    .meta(
      route("terminals.open", "POST /terminal/{node_id}", {
        tag,
        summary: "Open a terminal session on the agent",
        description:
          "Everything that it shows is recorded. Connect to `websocket_url` with the subprotocol `fleetwright.terminal.v1` and send the `ticket` in the first message.",
        problems: [
          "AGENT_NOT_APPROVED",
          "AGENT_OFFLINE",
          "AGENT_TIMEOUT",
          "TERMINALS_REFUSED",
          "TERMINALS_UNAVAILABLE",
          "TOO_MANY_TERMINALS",
          "HOST_ERROR",
          "COMMAND_EXPIRED",
          "COMMAND_UNSUPPORTED",
          "PEER_ERROR",
        ],
        rest: {
          status: 201,
          location: ({ session_id }: OpenedTerminal) => `/terminal/session/${session_id}`,
        },
      }),
    )
    .input(schemas.openTerminalInput)
    .output(schemas.openedTerminalSchema)
    .mutation(async ({ ctx, input }) => ctx.orchestrator.terminals.open(await ctx.caller(), input)),
  ticket: procedure
    .meta(
      route("terminals.ticket", "POST /terminal/session/{session_id}/ticket", {
        tag,
        summary: "Get a ticket to attach to a terminal session",
        description:
          "For who opened it, to attach again, and for an Admin, to watch; also within a minute after the session has ended by itself, for what was missed. It works once, within 30 seconds.",
        problems: ["INVALID_TRANSITION"],
      }),
    )
    .input(schemas.terminalIdInput)
    .output(schemas.terminalTicketSchema)
    .mutation(async ({ ctx, input }) => ctx.orchestrator.terminals.ticket(await ctx.caller(), input)),
  close: procedure
    .meta(
      route("terminals.close", "DELETE /terminal/session/{session_id}", {
        tag,
        summary: "Close a terminal session",
        description:
          "Ends its program and all that it started. Somebody else's may be closed by an Admin. Nothing happens where it has ended.",
      }),
    )
    .input(schemas.terminalIdInput)
    .output(schemas.nothingSchema)
    .mutation(async ({ ctx, input }) => ctx.orchestrator.terminals.close(await ctx.caller(), input)),
  transcript: procedure
    .meta(
      route("terminals.transcript", "GET /terminal/session/{session_id}/transcript", {
        tag,
        summary: "Download the transcript",
        description:
          "An asciicast, version 2, for any player of these; with `format=text` plain text without a control sequence, with `search` only its lines in which that stands. Also while the session is active. Somebody else's may be read by an Admin. Each reading is in the audit log (`terminal.transcriptRead`) before the first byte of it is sent; where that can't be written, nothing is.",
        problems: ["STORAGE_CORRUPT", "STORAGE_FULL"],
        rest: { produces: [asciicast, plainText] },
      }),
    )
    .input(schemas.transcriptInput)
    .output(schemas.transcriptSchema)
    .query(async ({ ctx, input }) => {
      const pieces = await ctx.orchestrator.terminals.transcript(await ctx.caller(), input);
      const type = input.format === "text" ? plainText : asciicast;
      return new Response(toByteStream(pieces), { headers: { "content-type": type } });
    }),
});
