/** Has the requests of one connection wait for each other. */
import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";

/** Requests of one connection that may wait for the answers before theirs. Hardly any client sends so many ahead. */
const mostAhead = 64;

/** A request and its answer. */
interface Exchange {
  request: IncomingMessage;
  response: ServerResponse;
}

/** What serves requests. */
export interface Served {
  listener: RequestListener;
  /** Hears of each request that has to wait before it is served. */
  expect(request: IncomingMessage): void;
}

/**
 * Serves the requests of a connection one after the other: each when the network took the answer to the one before. Else whoever
 * sends many and reads nothing would have the server make and keep all their answers. A connection that asks too far ahead is cut.
 */
export class Turns {
  readonly #served: Served;
  // The newest answer on each connection: one write to a map is all that a request pays.
  readonly #answers = new WeakMap<Duplex, ServerResponse>();
  readonly #waiting = new WeakMap<Duplex, Exchange[]>();

  constructor(served: Served) {
    this.#served = served;
  }

  /** Serves a request, at once or in its turn. */
  take(request: IncomingMessage, response: ServerResponse): void {
    const { socket } = request;
    const before = this.#answers.get(socket);
    if (before === undefined || before.closed) return this.#serve({ request, response });
    this.#served.expect(request);
    const queue = this.#waiting.get(socket);
    if (queue === undefined) this.#line(socket, before, [{ request, response }]);
    else if (queue.push({ request, response }) > mostAhead) socket.destroy();
  }

  /** The answer that is made on a connection or was the last; undefined where there was none. */
  answerOn(socket: Duplex): ServerResponse | undefined {
    return this.#answers.get(socket);
  }

  /** Whether requests of a connection wait. */
  areWaiting(socket: Duplex): boolean {
    return this.#waiting.has(socket);
  }

  /**
   * Calls back when all that a connection asked for is answered, and there is nothing more to be read. A request that is not whole
   * is given up: at once where it is its turn, and then the connection is open only if nothing of its answer was sent.
   */
  whenAnswered(socket: Duplex, done: (isOpen: boolean) => void): void {
    const queue = this.#waiting.get(socket) ?? [];
    if (queue.at(-1)?.request.complete === false) queue.pop();
    const last = queue.at(-1)?.response ?? this.#answers.get(socket);
    if (last?.req.complete === false) done(!last.headersSent);
    else if (last === undefined || last.closed) done(true);
    else last.once("close", () => done(true));
  }

  #line(socket: Duplex, before: ServerResponse, queue: Exchange[]): void {
    this.#waiting.set(socket, queue);
    before.once("close", () => {
      this.#waiting.delete(socket);
      const [next, ...others] = queue;
      // The answer before may have been the last on its connection.
      if (next === undefined || !socket.writable) return;
      if (others.length > 0) this.#line(socket, next.response, others);
      this.#serve(next);
    });
  }

  #serve({ request, response }: Exchange): void {
    this.#answers.set(request.socket, response);
    this.#served.listener(request, response);
  }
}
