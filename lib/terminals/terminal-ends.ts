/** How the end of a terminal is written down. */
import { systemCaller } from "../callers/caller.ts";
import type { Context } from "../context.ts";
import { retryOnConflict } from "../internal/retry-on-conflict.ts";
import { toJsonObject } from "../json.ts";
import { recordingOf, type TerminalDocument } from "./documents.ts";
import { hashRecording } from "./recording-hash.ts";
import type { TerminalEnd } from "./terminal-viewer.ts";

/** Writes how a terminal ended, with the hash of its recording in the event. Nothing where it has ended already. */
export async function writeEnd(
  context: Context,
  { session_id }: Pick<TerminalDocument, "session_id">,
  end: TerminalEnd,
): Promise<void> {
  const hashed = await hashRecording(context, recordingOf(session_id));
  await retryOnConflict(async () => {
    const stored = await context.storage.get<TerminalDocument>("terminals", session_id);
    if (!stored || stored.value.status !== "active") return;
    const { exitCode, status, reason, bytes } = end;
    const recording = hashed === null ? "missing" : end.recording;
    const facts = {
      recording_bytes: hashed?.bytes ?? 0,
      ...(hashed && { recording_hash: hashed.hash }),
      ...(exitCode !== undefined && { exit_code: exitCode }),
    };
    const { node_id, operator_id, username, agent_name } = stored.value;
    const value = {
      ...stored.value,
      ...facts,
      status,
      recording,
      bytes,
      close_reason: reason,
      closed_at: context.timestamp(),
    };
    const write = {
      kind: "put",
      collection: "terminals",
      key: session_id,
      value: toJsonObject(value),
    } as const;
    await context.commitWithReserve(systemCaller, [{ ...write, expected: stored.revision }], {
      type: status === "closed" ? "terminal.closed" : "terminal.interrupted",
      target: { type: "terminal", id: session_id, name: agent_name },
      summary: `The terminal of ${username} on ${agent_name} ${status === "closed" ? "was closed" : "was interrupted"}: ${reason}`,
      metadata: { session_id, node_id, operator_id, reason, recording, ...facts },
    });
  });
}
