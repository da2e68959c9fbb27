import { z } from "zod";
import { idPrefixSchema, idSchema, keyIdSchema, pageInput, pageOf } from "../internal/common-schemas.ts";

/** How a terminal stands. */
export const terminalStatusSchema = z.enum(["active", "closed", "interrupted"]);

const size = (what: string): z.ZodNumber =>
  z.number().int().min(1).max(1000).describe(`${what} in characters, 1-1,000.`);

/** A terminal session. */
export const terminalSchema = z
  .object({
    session_id: idSchema.describe("Its id."),
    node_id: keyIdSchema,
    agent_name: z.string().describe("As the agent was called when it was opened."),
    operator_id: z.string().describe("Who opened it."),
    username: z.string(),
    status: terminalStatusSchema,
    reason: z.string().optional().describe("Why it was opened, as the operator said."),
    cols: z.number().int().describe("Width when it was opened, in characters."),
    rows: z.number().int().describe("Height when it was opened, in characters."),
    shell: z.string().optional().describe("The program that was asked for; absent = the agent's own choice."),
    opened_at: z.string().describe("When it was opened."),
    closed_at: z.string().optional().describe("When it ended; absent while it is active."),
    close_reason: z
      .string()
      .optional()
      .describe(
        "exit, closed, detached, idle, too_long, operator_changed, recording_failed, agent_lost, server_lost or refused.",
      ),
    exit_code: z.number().int().optional().describe("Of the shell, where it ended by itself."),
    recording: z
      .enum(["recording", "complete", "partial", "missing"])
      .describe("complete = all that was ever shown; partial = up to where it was cut off."),
    bytes: z
      .number()
      .int()
      .describe(
        "Bytes of output, up to now while it is active; of one that was interrupted by a crash, those that are in its recording.",
      ),
    viewers: z.number().int().describe("Who is attached now, with those who watch; 0 where it has ended."),
    recording_hash: z
      .string()
      .optional()
      .describe("SHA-256 over the SHA-256 of each MiB of the recording, hex; the same is in the audit log."),
  })
  .meta({ id: "TerminalSession" });

/** Output of `terminals.list`. */
export const terminalPageSchema = pageOf(terminalSchema);

/** What a terminal is attached to with. */
export const terminalTicketSchema = z.object({
  websocket_url: z
    .string()
    .describe("Path of the WebSocket below this server; its subprotocol is `fleetwright.terminal.v1`."),
  ticket: z.string().describe("For the first message; works once, within 30 seconds."),
});

/** Output of `terminals.open`. */
export const openedTerminalSchema = terminalSchema.extend(terminalTicketSchema.shape);

/** Input of `terminals.list`. */
export const listTerminalsInput = z.strictObject({
  status: terminalStatusSchema.optional(),
  node_id: keyIdSchema.optional(),
  id_prefix: idPrefixSchema,
  ...pageInput,
});

/** Names one terminal. */
export const terminalIdInput = z.strictObject({ session_id: idSchema });

/** Input of `terminals.open`. */
export const openTerminalInput = z.strictObject({
  node_id: keyIdSchema,
  cols: size("Width").optional(),
  rows: size("Height").optional(),
  shell: z
    .string()
    .regex(/^\/[^\p{C}]{1,4000}$/u, "an absolute path")
    .optional()
    .describe("Program to run. Default the agent's own choice."),
  reason: z
    .string()
    .regex(/^[^\p{C}]{1,500}$/u, "one line of 1 to 500 characters")
    .optional()
    .describe("Why, for the audit log."),
});

/** Input of `terminals.transcript`. */
export const transcriptInput = terminalIdInput.extend({
  format: z
    .enum(["asciicast", "text"])
    .optional()
    .describe("asciicast = version 2, for players; text = without any control sequence. Default asciicast."),
  search: z
    .string()
    .min(1)
    .max(200)
    .optional()
    .describe(
      "Only the lines of the text in which this stands, each after its number. Goes with format=text.",
    ),
});

/** Output of `terminals.transcript` for adapters: bytes in whatever form they stream them. */
export const transcriptSchema = z
  .custom<object>((value) => typeof value === "object" && value !== null)
  .meta({ override: { type: "string" } });

/** What a viewer sends beside input, which is binary. */
export const viewerMessageSchema = z.discriminatedUnion("type", [
  z.strictObject({
    type: z.literal("attach"),
    ticket: z.string().max(200),
    last_offset: z.number().int().min(0).max(Number.MAX_SAFE_INTEGER).optional(),
  }),
  z.strictObject({ type: z.literal("resize"), cols: size("Width"), rows: size("Height") }),
  z.strictObject({ type: z.literal("ack"), offset: z.number().int().min(0).max(Number.MAX_SAFE_INTEGER) }),
]);

/** A terminal session. @useDeclaredType */
export type Terminal = z.infer<typeof terminalSchema>;
/** A terminal session and how to attach to it. @useDeclaredType */
export type OpenedTerminal = z.infer<typeof openedTerminalSchema>;
/** What a terminal is attached to with. @useDeclaredType */
export type TerminalTicket = z.infer<typeof terminalTicketSchema>;
/** What a viewer sends. @useDeclaredType */
export type ViewerMessage = z.infer<typeof viewerMessageSchema>;
