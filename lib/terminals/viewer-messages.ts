/** What is said on the socket of a viewer beside input and output. */
import { isOrchestratorError, OrchestratorError } from "../errors.ts";
import { parseInput } from "../internal/parse-input.ts";
import { closeCode, type FrameSocket } from "../transport/socket.ts";
import { viewerMessageSchema, type ViewerMessage } from "./schemas.ts";

const mostMessageChars = 1_000;

/**
 * Bytes that may wait in a socket. Who acknowledges what came has it, so that no honest viewer leaves a fourth of it unread: more waits
 * only for one that says so and does not read.
 */
export const mostUnreadBytes = 2_097_152;

/**
 * Reads what a viewer says.
 *
 * @throws {OrchestratorError} `VALIDATION_FAILED`.
 */
export function parseViewerMessage(text: string): ViewerMessage {
  if (text.length > mostMessageChars) throw broken("A message is too long.");
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    throw broken("A message is no JSON.");
  }
  return parseInput(viewerMessageSchema, json);
}

/** Says why a viewer is sent away, and does so. */
export function refuseViewer(socket: FrameSocket, error: unknown): void {
  const code = isOrchestratorError(error) ? error.code : "INTERNAL";
  const message = isOrchestratorError(error) ? error.message : "Something went wrong inside.";
  socket.send(JSON.stringify({ type: "refused", code, message }));
  socket.close(closeCode.refused, code);
}

/** The error of a viewer that does not keep to the protocol. */
export function broken(message: string): OrchestratorError {
  return new OrchestratorError("VALIDATION_FAILED", { message });
}
