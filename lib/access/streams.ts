import type { Caller, OperatorCaller } from "../callers/caller.ts";
import type { Timer } from "../clock.ts";
import type { Context } from "../context.ts";
import { isOrchestratorError, OrchestratorError } from "../errors.ts";
import { eventTable } from "../events.ts";
import type { AccessService } from "./access-service.ts";

/** Streams that one session may hold open. */
const streamsPerSession = 32;

/** How often an open stream is held against its session, which may have expired. */
const recheckMs = 30_000;

/** A stream that was allowed. */
export interface OpenStream {
  /** Aborted when the caller may not read on, by the caller, or when the orchestrator stops: see {@link isStopping}. */
  signal: AbortSignal;
  /** To be called when nobody reads any more. */
  close(): void;
}

/** Open streams of operators: each ends with the session that opened it, with its role, and with the orchestrator. */
export class Streams {
  readonly #context: Context;
  readonly #access: AccessService;
  readonly #perSession = new Map<string, number>();
  readonly #open = new Set<(reason?: unknown) => void>();

  constructor(context: Context, access: AccessService) {
    this.#context = context;
    this.#access = access;
    context.leaving.signal.addEventListener("abort", () => {
      for (const end of this.#open) end(stopping());
    });
  }

  /**
   * Allows a stream of a caller who has been authorized.
   *
   * @throws {OrchestratorError} `RATE_LIMITED` where the session holds too many open;
   * `UNAVAILABLE` while the process is about to end.
   */
  open(caller: Caller, signal?: AbortSignal): OpenStream {
    if (this.#context.leaving.signal.aborted) throw stopping();
    const session = caller.kind === "operator" ? caller.session_id : null;
    this.#count(session, 1);
    const ended = new AbortController();
    const end = (reason?: unknown): void => ended.abort(reason);
    const unlisten = caller.kind === "operator" ? this.#watchSession(caller, end) : null;
    this.#open.add(end);
    return {
      signal: signal ? AbortSignal.any([signal, ended.signal]) : ended.signal,
      close: () => {
        if (!this.#open.delete(end)) return;
        end();
        unlisten?.();
        this.#count(session, -1);
      },
    };
  }

  /** Looks at the session again whenever something about access happens, and now and then. */
  #watchSession(caller: OperatorCaller, end: () => void): () => void {
    const { clock } = this.#context;
    const check = (): void => {
      this.#access.isSignedIn(caller).then(
        (signedIn) => signedIn || end(),
        () => end(),
      );
    };
    let timer: Timer;
    const arm = (): void => {
      timer = clock.setTimer(recheckMs, () => (check(), arm()));
    };
    arm();
    const unlisten = this.#context.feed.listen((event) => {
      if (eventTable[event.event_type].category === "access") check();
    });
    // What ended the session between the reading of its token and now was heard by nobody.
    check();
    return () => {
      timer.cancel();
      unlisten();
    };
  }

  #count(session: string | null, change: number): void {
    if (session === null) return;
    const count = (this.#perSession.get(session) ?? 0) + change;
    if (count > streamsPerSession) {
      const message = `A session may hold ${streamsPerSession} streams open.`;
      throw new OrchestratorError("RATE_LIMITED", { message, details: { retry_after_seconds: 1 } });
    }
    if (count === 0) this.#perSession.delete(session);
    else this.#perSession.set(session, count);
  }
}

/** Why a stream ends with the process. */
function stopping(): OrchestratorError {
  return new OrchestratorError("UNAVAILABLE", { message: "The server is stopping." });
}

/** Whether a stream ended with the process, and not with the session of who read it. */
export function isStopping({ reason }: AbortSignal): boolean {
  return isOrchestratorError(reason, "UNAVAILABLE");
}

/**
 * A stream that ends when its reader leaves it, also while a step of it is waited for: of a generator alone, `return` would wait for the
 * next item, which may never come.
 *
 * @param read - Reads until the signal that it is given is aborted.
 */
export function endedByReturn<Item>(
  read: (signal: AbortSignal) => AsyncGenerator<Item, void>,
  signal?: AbortSignal,
): AsyncGenerator<Item, void> {
  const left = new AbortController();
  const items = read(signal ? AbortSignal.any([signal, left.signal]) : left.signal);
  const [end, fail] = [items.return.bind(items), items.throw.bind(items)];
  items.return = (value) => (left.abort(), end(value));
  items.throw = (error) => (left.abort(), fail(error));
  return items;
}
