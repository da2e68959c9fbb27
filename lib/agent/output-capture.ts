import { TextDecoder } from "node:util";
import { Redactor, type RedactionStream } from "../secret-format/redactor.ts";
import type { ResourceOutput } from "../state/run/state-run.ts";
import type { OperationOutput } from "../wire/messages.ts";

/** Bytes kept of one stream of one resource, and of a whole operation. */
const maxStreamBytes = 256 * 1024;
const maxOperationBytes = 4 * 1024 * 1024;
/** What one result message can carry. */
const maxStreams = 4000;

interface CapturedStream {
  output: OperationOutput;
  bytes: number;
  decoder: TextDecoder;
  redaction: RedactionStream;
  /** How much of the text was handed out already. */
  takenLength: number;
}

/** What the programs of an operation write, as far as it is kept: 256 KiB a stream, 4 MiB in all. The rest is dropped and marked. */
export class OutputCapture {
  readonly #streams = new Map<string, CapturedStream>();
  readonly #fresh = new Set<CapturedStream>();
  readonly #redactor: Redactor;
  #bytes = 0;

  /**
   * @param redactor - Takes secrets out, also those that come in pieces: what may be the beginning of one waits for what follows.
   * Default: there are none.
   */
  constructor(redactor: Redactor = new Redactor([])) {
    this.#redactor = redactor;
  }

  /** Takes a piece in. */
  add({ module, resource_id, stream, bytes }: ResourceOutput): void {
    const key = JSON.stringify([module, resource_id, stream]);
    let captured = this.#streams.get(key);
    if (!captured) {
      if (this.#streams.size >= maxStreams) return;
      const output: OperationOutput = { module, resource_id, stream, text: "", truncated: false };
      captured = {
        output,
        bytes: 0,
        decoder: new TextDecoder(),
        redaction: this.#redactor.stream(),
        takenLength: 0,
      };
      this.#streams.set(key, captured);
    }
    if (captured.output.truncated) return;
    const room = Math.min(maxStreamBytes - captured.bytes, maxOperationBytes - this.#bytes);
    const kept = bytes.subarray(0, room);
    captured.output.truncated = kept.length < bytes.length;
    captured.output.text += captured.redaction.push(captured.decoder.decode(kept, { stream: true }));
    if (captured.output.truncated) captured.output.text += captured.redaction.end({ isCut: true });
    captured.bytes += kept.length;
    this.#bytes += kept.length;
    this.#fresh.add(captured);
  }

  /** What came since the last time. */
  takeFresh(): OperationOutput[] {
    const pieces = [...this.#fresh].map((captured) => {
      const text = captured.output.text.slice(captured.takenLength);
      captured.takenLength = captured.output.text.length;
      return { ...captured.output, text };
    });
    this.#fresh.clear();
    return pieces;
  }

  /** Everything that was kept, when nothing more comes. */
  all(): OperationOutput[] {
    return [...this.#streams.values()].map(({ output, decoder, redaction }) => {
      // The beginning of a character is told, too, unless what would have ended it was dropped.
      if (!output.truncated) output.text += redaction.push(decoder.decode());
      output.text += redaction.end();
      return output;
    });
  }
}
