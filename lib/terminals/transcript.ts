/** What a terminal showed, read from its recording: as it is, as text, or what is found in the text. */
import type { z } from "zod";
import type { Context } from "../context.ts";
import { OrchestratorError } from "../errors.ts";
import { recordingOf, type TerminalDocument } from "./documents.ts";
import { PlainText } from "./plain-text.ts";
import { hashRecording } from "./recording-hash.ts";
import type { transcriptInput } from "./schemas.ts";

const pieceBytes = 262_144;

type Form = Omit<z.output<typeof transcriptInput>, "session_id">;

/** Reads a transcript. Errors as {@link Terminals.transcript}. */
export async function readTranscript(
  context: Context,
  {
    session_id,
    recording_hash,
    recording,
  }: Pick<TerminalDocument, "session_id" | "recording_hash" | "recording">,
  { format = "asciicast", search }: Form,
): Promise<AsyncIterable<Uint8Array>> {
  if (search !== undefined && format !== "text") {
    throw new OrchestratorError("VALIDATION_FAILED", {
      issues: [{ path: ["search"], message: "goes with format=text" }],
    });
  }
  const blob = recordingOf(session_id);
  if ((await context.storage.readBlob(blob, { from: 0, to: 1 })) === null)
    throw new OrchestratorError("NOT_FOUND", { message: "Nothing was recorded, or it is kept no longer." });
  if (recording_hash !== undefined && (await hashRecording(context, blob))?.hash !== recording_hash)
    throw new OrchestratorError("STORAGE_CORRUPT", {
      message:
        "The recording is not what was recorded: its hash differs from the one that was taken at its end.",
    });
  const pieces = readPieces(context, blob);
  // A complete one has whole events alone.
  if (format === "asciicast") return recording === "complete" ? pieces : encode(toWholeEvents(pieces));
  return encode(search === undefined ? toText(pieces) : toFound(toText(pieces), search));
}

async function* readPieces({ storage }: Context, blob: string): AsyncGenerator<Uint8Array> {
  for (let from = 0; ;) {
    const piece = await storage.readBlob(blob, { from, to: from + pieceBytes });
    // Never as if that was all of it.
    if (piece === null && from > 0)
      throw new OrchestratorError("NOT_FOUND", { message: "The recording is kept no longer." });
    if (piece === null || piece.length === 0) return;
    from += piece.length;
    yield piece;
  }
}

/** Counts the bytes of output in a recording, however it ends; those that were no character as what stands in their place. */
export async function countOutput(context: Context, sessionId: string): Promise<number> {
  let bytes = 0;
  for await (const output of outputOf(readPieces(context, recordingOf(sessionId))))
    bytes += Buffer.byteLength(output);
  return bytes;
}

/** The text of the output events. */
async function* toText(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const plain = new PlainText();
  for await (const output of outputOf(pieces)) {
    const text = plain.take(output);
    if (text !== "") yield text;
  }
}

async function* outputOf(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  for await (const line of linesOf(decode(pieces))) {
    const event = parseLine(line);
    if (Array.isArray(event) && event[1] === "o") yield String(event[2]);
  }
}

/** The lines of a recording without those of which a part is missing, as a crash may leave them. */
async function* toWholeEvents(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  for await (const line of linesOf(decode(pieces))) if (parseLine(line) !== null) yield `${line}\n`;
}

function parseLine(line: string): unknown {
  try {
    return JSON.parse(line) as unknown;
  } catch {
    return null;
  }
}

/** The lines in which a text stands, each after its number from 1. */
async function* toFound(texts: AsyncIterable<string>, search: string): AsyncGenerator<string> {
  const wanted = search.toLowerCase();
  let number = 0;
  for await (const line of linesOf(texts)) {
    number += 1;
    if (line.toLowerCase().includes(wanted)) yield `${number}: ${line}\n`;
  }
}

async function* decode(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  for await (const piece of pieces) yield decoder.decode(piece, { stream: true });
}

async function* encode(texts: AsyncIterable<string>): AsyncGenerator<Uint8Array> {
  const encoder = new TextEncoder();
  for await (const text of texts) yield encoder.encode(text);
}

/** Whole lines; the last counts where anything stands in it. */
async function* linesOf(texts: AsyncIterable<string>): AsyncGenerator<string> {
  let rest: string[] = [];
  for await (const text of texts) {
    const lines = text.split("\n");
    const last = lines.pop() ?? "";
    for (const line of lines) {
      yield rest.length > 0 ? rest.join("") + line : line;
      rest = [];
    }
    if (last !== "") rest.push(last);
  }
  if (rest.length > 0) yield rest.join("");
}
