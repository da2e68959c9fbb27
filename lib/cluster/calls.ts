/** The calls of one process: those that it waits for, and those that it answers. */
import type { Timer } from "../clock.ts";
import type { OrchestratorError } from "../errors.ts";
import { isOrchestratorError } from "../errors.ts";
import type { JsonObject } from "../json.ts";
import type { ClusterCall, ClusterContext, ClusterHandlers } from "./cluster.ts";
import {
  fromBody,
  fromClusterError,
  lost,
  toBody,
  toClusterError,
  unknownMethod,
  type ClusterFrame,
} from "./frames.ts";
import { maxCalls } from "./limits.ts";

interface Waiting {
  process: string;
  timer: Timer;
  resolve: (answer: JsonObject) => void;
  reject: (error: OrchestratorError) => void;
}

type CallFrame = Extract<ClusterFrame, { kind: "call" | "answer" | "failure" }>;

/** What the calls of a process need of it. */
export interface CallEnds {
  context: ClusterContext;
  calls: ClusterHandlers["calls"];
  send(process: string, frame: ClusterFrame): void;
}

export class Calls {
  readonly #ends: CallEnds;
  readonly #waiting = new Map<number, Waiting>();
  readonly #working = new Set<Promise<void>>();
  #made = 0;

  constructor(ends: CallEnds) {
    this.#ends = ends;
  }

  async make(process: string, method: string, { body, timeoutMs }: ClusterCall): Promise<JsonObject> {
    const text = toBody(body);
    const id = this.#made++;
    return new Promise((resolve, reject) => {
      const late = (): void => this.#take(id)?.reject(lost("timeout"));
      const timer = this.#ends.context.clock.setTimer(timeoutMs, late);
      this.#waiting.set(id, { process, timer, resolve, reject });
      this.#ends.send(process, { kind: "call", id, method, body: text });
    });
  }

  receive(process: string, frame: CallFrame): void {
    if (frame.kind === "call") return this.#begin(process, frame);
    const waiting = this.#waiting.get(frame.id);
    // Who waited has given up, or was another.
    if (waiting?.process !== process) return;
    this.#take(frame.id);
    if (frame.kind === "answer") waiting.resolve(fromBody(frame.body));
    else waiting.reject(fromClusterError(frame.error));
  }

  /** Ends the calls to a process, or all. */
  end(error: OrchestratorError, process?: string): void {
    for (const [id, waiting] of this.#waiting)
      if (process === undefined || waiting.process === process) this.#take(id)?.reject(error);
  }

  /** Resolves when no method runs. */
  async settled(): Promise<void> {
    while (this.#working.size > 0) await Promise.all(this.#working);
  }

  #take(id: number): Waiting | undefined {
    const waiting = this.#waiting.get(id);
    waiting?.timer.cancel();
    this.#waiting.delete(id);
    return waiting;
  }

  #begin(process: string, frame: Extract<ClusterFrame, { kind: "call" }>): void {
    const work: Promise<void> = this.#answer(process, frame).finally(() => this.#working.delete(work));
    this.#working.add(work);
  }

  async #answer(
    process: string,
    { id, method, body }: Extract<ClusterFrame, { kind: "call" }>,
  ): Promise<void> {
    const { calls, context, send } = this.#ends;
    try {
      const answers = calls.get(method);
      if (!answers) throw unknownMethod(method);
      if (this.#working.size >= maxCalls) throw lost("busy");
      const answer = toBody(await answers({ from: process, body: fromBody(body) }));
      send(process, { kind: "answer", id, body: answer });
    } catch (error) {
      if (!isOrchestratorError(error)) context.logger.error("A call of another process failed.", { error });
      send(process, { kind: "failure", id, error: toClusterError(error) });
    }
  }
}
