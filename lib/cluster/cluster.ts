/** PORT: how the processes of one orchestrator talk to each other. */
import type { Clock } from "../clock.ts";
import type { Crypto } from "../crypto/crypto.ts";
import type { JsonObject } from "../json.ts";
import type { Logger } from "../logger.ts";

/** Whether a process reaches the others: "down" before the start, after the stop, and while what joins them is gone. */
export type ClusterState = "up" | "down";

/**
 * How the processes of one orchestrator talk to each other: they ring when something was committed, ask each other, and open pipes.
 *
 * Nothing that is a record goes over it, and nothing may depend on what does: the truth is in the storage. The way between two processes
 * may be slow, lose what it carries or be cut off, and is trusted otherwise. Whatever is lost is an error or a missing ring, never silence.
 * What every cluster promises (each number is the `promise` of cases of the conformance suite in `fleetwright/testing`):
 *
 *  1. `name` is another at each start; `state` is "up" once `start` has resolved, and "down" before it and after `stop`.
 *  2. `call` brings its body to the method of the process that it names, once, and resolves with what that answers.
 *  3. `call` and `open` reject with `UNAVAILABLE` at once where no such process is there, and where it leaves before it has answered;
 *     a call of which nothing is heard in its time rejects so, too.
 *  4. What a method throws reaches who called or opened: an error of the package with code, message and details, any other as `INTERNAL` that
 *     says nothing of its cause.
 *  5. A method that the process does not know is refused with `METHOD_NOT_ALLOWED`; a body or an answer above 1 MiB of JSON with
 *     `PAYLOAD_TOO_LARGE`. Either concerns that one call or pipe.
 *  6. What is written into a pipe arrives whole and in order, both ways; who has read all of it before the other's `end` reads null.
 *  7. A writer waits for the reader: of what is written never more than 1 MiB is on the way or unread.
 *  8. A pipe of which a frame is lost, or whose other process is lost or cut off, ends on both sides within 10 s: what is read and written
 *     rejects with `UNAVAILABLE`. It never ends as if it were whole.
 *  9. Who gives a pipe up (`abort`, the signal of `open`, a method that throws) ends both sides, with the same error.
 * 10. `ring` is heard by every other process and not by the own one; rings may be lost, and never throw.
 * 11. `stop` ends calls and pipes on both sides with `UNAVAILABLE` and resolves when no method runs any more. It may be called twice; a
 *     cluster may be started again afterwards.
 * 12. Where what joins the processes is gone, `state` is "down", calls and pipes end at once, and all is as before when it is back.
 */
export interface Cluster {
  /** Names this process among all that there ever were, from `start` on; empty before. */
  readonly name: string;
  /** Whether the others are reached. */
  readonly state: ClusterState;
  /** Joins the others, under a new name. */
  start(context: ClusterContext, handlers: ClusterHandlers): Promise<void>;
  /** Leaves the others; resolves when no handler runs any more, so no handler may wait for it. */
  stop(): Promise<void>;
  /** Tells the others that something was committed, up to this position of the storage. May be lost: who must know asks the storage, too. */
  ring(position: number): void;
  /**
   * Asks a process and waits for its answer. It may have done what it was asked for, though this rejects.
   *
   * @param process - The `name` of a process; the own one may be asked, too.
   * @param method - One of the `calls` of its handlers.
   * @throws {OrchestratorError} `UNAVAILABLE` where no answer comes; `METHOD_NOT_ALLOWED` for a method that the process does not know;
   * `PAYLOAD_TOO_LARGE` for a body or an answer above 1 MiB; what the method throws.
   */
  call(process: string, method: string, call: ClusterCall): Promise<JsonObject>;
  /**
   * Opens a pipe to a process. Resolved means that its method has begun.
   *
   * @param process - As for {@link call}.
   * @param method - One of the `pipes` of its handlers.
   * @throws {OrchestratorError} As for {@link call}; `CANCELLED` where the signal is aborted.
   */
  open(process: string, method: string, opening: PipeOpening): Promise<Pipe>;
}

/** What is asked of another process. */
export interface ClusterCall {
  /** At most 1 MiB as JSON. */
  body: JsonObject;
  /** Milliseconds to wait for the answer, 1 to 600,000. */
  timeoutMs: number;
}

/** How a pipe is opened. */
export interface PipeOpening {
  /** What the method is told at the beginning, at most 1 MiB as JSON. */
  body: JsonObject;
  /** Ends the pipe on both sides with `CANCELLED`. */
  signal?: AbortSignal;
}

/** What a cluster is given to work with. */
export interface ClusterContext {
  clock: Clock;
  crypto: Crypto;
  logger: Logger;
}

/** What other processes may ask of this one. */
export interface ClusterHandlers {
  /** Another process rang. Must not throw, nor wait. Absent: rings are not heard. */
  rang?(process: string, position: number): void;
  /** What answers calls, by method. */
  readonly calls: ReadonlyMap<string, CallMethod>;
  /** What serves pipes, by method. */
  readonly pipes: ReadonlyMap<string, PipeMethod>;
}

/** Answers a call of another process. */
export type CallMethod = (call: ReceivedCall) => Promise<JsonObject>;

/** A call as the process gets it that is asked. */
export interface ReceivedCall {
  /** The name of the process that asks. */
  from: string;
  body: JsonObject;
}

/**
 * Serves a pipe that another process opened. When it resolves, its side is ended; when it rejects, the pipe ends with that error. What the
 * other side writes and nobody reads any more is refused then.
 */
export type PipeMethod = (opened: OpenedPipe) => Promise<void>;

/** A pipe as the process gets it to which it was opened. */
export interface OpenedPipe extends ReceivedCall {
  pipe: Pipe;
}

/**
 * One side of a pipe: bytes both ways, in frames of at most 64 KiB. Each side ends what it writes by itself; the pipe is over when both have.
 *
 * A reader that does not read holds its writer up and costs 1 MiB at most. A pipe that fails tells so to every `read`, `write` and `end`
 * that waits or comes; only what was whole before, up to the other's end, can be read on.
 */
export interface Pipe {
  /** Aborted when the pipe has failed or was given up by either side, with the error as its reason. */
  readonly signal: AbortSignal;
  /**
   * Writes bytes, which must not be changed any more. Resolved means that the reader had room for them, not that they were read.
   * Several writes at once go out one after the other.
   *
   * @throws {OrchestratorError} `UNAVAILABLE` when the pipe is lost, or ended here; what the other side gave it up with.
   */
  write(bytes: Uint8Array): Promise<void>;
  /**
   * Ends what this side writes, after all writes before it; reading goes on. Resolved means that all of it arrived. May be called twice.
   *
   * @throws {OrchestratorError} As for {@link write}.
   */
  end(): Promise<void>;
  /**
   * The next bytes, in pieces as they come, or null after the last.
   *
   * @throws {OrchestratorError} As for {@link write}, where not all of it arrived.
   */
  read(): Promise<Uint8Array | null>;
  /**
   * Gives the pipe up, on both sides. Nothing happens where it is over.
   *
   * @param error - What both sides are told. Default `CANCELLED`.
   */
  abort(error?: unknown): void;
}
