/** The pipes of one process: those that it opened, and those that it serves. */
import type { Timer } from "../clock.ts";
import { isOrchestratorError, OrchestratorError } from "../errors.ts";
import type { ClusterContext, ClusterHandlers, Pipe, PipeMethod, PipeOpening } from "./cluster.ts";
import { FramedPipe } from "./framed-pipe.ts";
import {
  fromBody,
  lost,
  toBody,
  toClusterError,
  unknownMethod,
  type ClusterFrame,
  type PipeFrame,
  type PipePlace,
} from "./frames.ts";
import { beatMs, maxPipes } from "./limits.ts";

type OpenFrame = Extract<ClusterFrame, { kind: "open" }>;
type ResetFrame = Extract<ClusterFrame, { kind: "reset" }>;

/** What the pipes of a process need of it. */
export interface PipesEnds {
  context: ClusterContext;
  pipes: ClusterHandlers["pipes"];
  /** The name of the process. */
  name: string;
  /** Whether frames may be lost, so that both sides must show that they are there. */
  isLossy: boolean;
  send(process: string, frame: ClusterFrame): void;
}

/** One side of a pipe, and the process that has the other. */
interface Side {
  process: string;
  pipe: FramedPipe;
}

const otherSide = { opener: "server", server: "opener" } as const;

export class Pipes {
  readonly #ends: PipesEnds;
  /** Sides by how frames for them say where they come from. */
  readonly #sides = new Map<string, Side>();
  readonly #working = new Set<Promise<void>>();
  #made = 0;
  #beat: Timer | null = null;

  constructor(ends: PipesEnds) {
    this.#ends = ends;
  }

  async open(process: string, method: string, { body, signal }: PipeOpening): Promise<Pipe> {
    const text = toBody(body);
    if (signal?.aborted === true) throw new OrchestratorError("CANCELLED");
    if (this.#sides.size >= maxPipes) throw lost("busy");
    const id = `${this.#ends.name}.${this.#made++}`;
    const giveUp = (): void => pipe.abort();
    const pipe = this.#add({ pipe: id, by: "opener" }, process, () =>
      signal?.removeEventListener("abort", giveUp),
    );
    signal?.addEventListener("abort", giveUp, { once: true });
    this.#ends.send(process, { kind: "open", pipe: id, method, body: text });
    await pipe.opened();
    return pipe;
  }

  receive(process: string, frame: OpenFrame | ResetFrame | PipeFrame): void {
    if (frame.kind === "open") return this.#serve(process, frame);
    const side = this.#sides.get(keyOf(frame));
    if (side?.process === process) {
      if (frame.kind === "reset") side.pipe.wasReset(frame.error);
      else side.pipe.receive(frame, frame.number);
    } else if (frame.kind !== "reset") this.#reset(process, replyTo(frame), lost("closed"));
  }

  /** Ends the pipes to a process, or all; the other sides are told, as far as that reaches them. */
  end(error: OrchestratorError, process?: string): void {
    for (const side of this.#sides.values())
      if (process === undefined || side.process === process) side.pipe.abort(error);
  }

  /** Resolves when no method runs. */
  async settled(): Promise<void> {
    while (this.#working.size > 0) await Promise.all(this.#working);
  }

  #serve(process: string, { pipe: id, method, body }: OpenFrame): void {
    const place = { pipe: id, by: "server" } as const;
    const serves = this.#ends.pipes.get(method);
    if (!serves) return this.#reset(process, place, unknownMethod(method));
    if (this.#sides.size >= maxPipes) return this.#reset(process, place, lost("busy"));
    const pipe = this.#add(place, process);
    pipe.accept();
    const work: Promise<void> = this.#run(pipe, () =>
      serves({ from: process, body: fromBody(body), pipe }),
    ).finally(() => this.#working.delete(work));
    this.#working.add(work);
  }

  /** What a method leaves open is ended for it. */
  async #run(pipe: FramedPipe, serve: () => ReturnType<PipeMethod>): Promise<void> {
    try {
      await serve();
      await pipe.end();
      pipe.abort(lost("closed"));
    } catch (error) {
      if (!isOrchestratorError(error))
        this.#ends.context.logger.error("A pipe of another process failed.", { error });
      pipe.abort(error);
    }
  }

  #add(place: PipePlace, process: string, over?: () => void): FramedPipe {
    const { send, context } = this.#ends;
    const key = keyOf(replyTo(place));
    const pipe = new FramedPipe({
      send: (step, number) => send(process, { ...step, ...place, number }),
      reset: (error) => send(process, { kind: "reset", ...place, error }),
      over: () => {
        this.#sides.delete(key);
        over?.();
        this.#arm();
      },
      now: () => context.clock.monotonic(),
    });
    this.#sides.set(key, { process, pipe });
    this.#arm();
    return pipe;
  }

  #reset(process: string, place: PipePlace, error: OrchestratorError): void {
    const { pipe, by } = place;
    this.#ends.send(process, { kind: "reset", pipe, by, error: toClusterError(error) });
  }

  /** One timer for all pipes, while there are any. */
  #arm(): void {
    if (this.#sides.size === 0) {
      this.#beat?.cancel();
      this.#beat = null;
    } else if (this.#ends.isLossy) {
      this.#beat ??= this.#ends.context.clock.setTimer(beatMs, () => {
        this.#beat = null;
        for (const { pipe } of this.#sides.values()) pipe.beat();
        this.#arm();
      });
    }
  }
}

function keyOf({ pipe, by }: PipePlace): string {
  return `${pipe} ${by}`;
}

/** The same pipe, as its other side says. */
function replyTo({ pipe, by }: PipePlace): PipePlace {
  return { pipe, by: otherSide[by] };
}
