/** What both sides of the handshake demand of a frame before they look into it. */
import { fromHex } from "../crypto/encoding.ts";
import { OrchestratorError } from "../errors.ts";
import { epochVersion, maxHandshakeFrameBytes, tokenVersion } from "./limits.ts";

/** What a text frame is on the wire; binary stays as it is. */
interface FrameForms {
  text: string;
  binary: Uint8Array;
}

/**
 * Checks form and size.
 *
 * @throws {OrchestratorError} `PROTOCOL_ERROR` for a frame of the other form, or above 16 KiB.
 */
export function checkHandshakeFrame<Form extends keyof FrameForms>(
  frame: Uint8Array | string,
  form: Form,
): FrameForms[Form] {
  if ((typeof frame === "string") !== (form === "text")) {
    throw new OrchestratorError("PROTOCOL_ERROR", {
      message: `This step of the handshake is a ${form} frame.`,
    });
  }
  if (frame.length > maxHandshakeFrameBytes) {
    throw new OrchestratorError("PROTOCOL_ERROR", { message: "A frame of the handshake is too large." });
  }
  return frame as FrameForms[Form];
}

/** Versions that know no epoch know no such field either. */
export function checkEpochVersion(message: { epoch?: unknown }, version: number): void {
  if (message.epoch === undefined || version >= epochVersion) return;
  throw new OrchestratorError("PROTOCOL_ERROR", { message: `Version ${version} has no epoch.` });
}

/** Versions that know no enrolment token know no such field either. */
export function checkTokenVersion(message: { enrolment_token?: unknown }, version: number): void {
  if (message.enrolment_token === undefined || version >= tokenVersion) return;
  throw new OrchestratorError("PROTOCOL_ERROR", { message: `Version ${version} has no enrolment token.` });
}

/** The error of a frame, or a call, that the present state does not know. */
export function outOfOrder(): OrchestratorError {
  return new OrchestratorError("PROTOCOL_ERROR", { message: "The handshake is out of order." });
}

/** The bytes of a field whose schema lets only whole hex through. */
export function bytesOf(hex: string): Uint8Array {
  return fromHex(hex) ?? new Uint8Array();
}
