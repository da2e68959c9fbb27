import type { Clock, Timer } from "../clock.ts";
import type { Redactor } from "../secret-format/redactor.ts";
import type { ResourceResult } from "../state/result.ts";
import type { ResourceOutput } from "../state/run/state-run.ts";
import type { AgentMessage } from "../wire/messages.ts";
import { OutputCapture } from "./output-capture.ts";

/** Takes messages that may be lost. */
export type ProgressSink = (message: AgentMessage) => void;

/** How long results and output are gathered, milliseconds, and how many go into one message. */
const gatherMs = 250;
const maxResults = 500;
const maxPieces = 100;

/** What an operation tells while it runs, gathered so that a thousand quick resources are not a thousand messages. */
export class OperationProgress {
  readonly output: OutputCapture;
  readonly #operationId: string;
  readonly #clock: Clock;
  readonly #sink: ProgressSink;
  #results: ResourceResult[] = [];
  #timer: Timer | null = null;

  constructor(
    operationId: string,
    { clock, sink, redactor }: { clock: Clock; sink: ProgressSink; redactor?: Redactor },
  ) {
    this.#operationId = operationId;
    this.#clock = clock;
    this.#sink = sink;
    this.output = new OutputCapture(redactor);
  }

  addResult(result: ResourceResult): void {
    // What is told comes in the order in which it happened: what a script printed, then that it is done.
    this.#sendOutput();
    this.#results.push(result);
    if (this.#results.length >= maxResults) this.flush();
    else this.#arm();
  }

  addOutput(output: ResourceOutput): void {
    this.#sendResults();
    this.output.add(output);
    this.#arm();
  }

  /** Sends what was gathered. */
  flush(): void {
    this.#timer?.cancel();
    this.#timer = null;
    this.#sendOutput();
    this.#sendResults();
  }

  #sendOutput(): void {
    const pieces = this.output.takeFresh();
    for (let at = 0; at < pieces.length; at += maxPieces) {
      const output = pieces.slice(at, at + maxPieces);
      this.#sink({ type: "output", operation_id: this.#operationId, output });
    }
  }

  #sendResults(): void {
    const results = this.#results;
    if (results.length === 0) return;
    this.#results = [];
    this.#sink({ type: "progress", operation_id: this.#operationId, results });
  }

  #arm(): void {
    this.#timer ??= this.#clock.setTimer(gatherMs, () => this.flush());
  }
}
