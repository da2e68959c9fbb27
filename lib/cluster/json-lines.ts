/** JSON through a pipe: a value a line. A value may be longer than a frame. */
import { concatBytes, toUtf8 } from "../crypto/encoding.ts";
import { OrchestratorError } from "../errors.ts";
import type { Pipe } from "./cluster.ts";

/** Bytes of one line: more than anything that is told at once. */
const maxLineBytes = 16_777_216;

const lineEnd = 0x0a;

/** Writes a value; resolves when the reader had room for it. */
export function writeLine(pipe: Pipe, value: unknown): Promise<void> {
  return pipe.write(toUtf8(`${JSON.stringify(value)}\n`));
}

/**
 * Reads values until the other side ends.
 *
 * @throws {OrchestratorError} What the pipe fails with; `PEER_ERROR` for a line above 16 MiB, one that is no JSON, and one without an end.
 */
export async function* readLines(pipe: Pipe): AsyncGenerator<unknown, void> {
  let parts: Uint8Array[] = [];
  let length = 0;
  for (;;) {
    const bytes = await pipe.read();
    if (bytes === null) {
      if (length > 0) throw unreadable();
      return;
    }
    let from = 0;
    for (let at = bytes.indexOf(lineEnd); at >= 0; at = bytes.indexOf(lineEnd, from)) {
      yield parseLine(concatBytes(...parts, bytes.subarray(from, at)));
      [parts, length, from] = [[], 0, at + 1];
    }
    if (from < bytes.length) parts.push(bytes.subarray(from));
    length += bytes.length - from;
    if (length > maxLineBytes) throw unreadable();
  }
}

function parseLine(line: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(line));
  } catch (cause) {
    throw unreadable(cause);
  }
}

function unreadable(cause?: unknown): OrchestratorError {
  return new OrchestratorError("PEER_ERROR", { message: "What another process told can't be read.", cause });
}
