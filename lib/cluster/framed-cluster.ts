/** A cluster over a link that brings frames: calls, pipes, and what becomes of them when the other process or the link is gone. */
import { toHex } from "../crypto/encoding.ts";
import type { JsonObject } from "../json.ts";
import { Calls } from "./calls.ts";
import type {
  Cluster,
  ClusterCall,
  ClusterContext,
  ClusterHandlers,
  ClusterState,
  Pipe,
  PipeOpening,
} from "./cluster.ts";
import { lost, type ClusterFrame, type Loss } from "./frames.ts";
import type { ClusterLink, LinkEnds } from "./link.ts";
import { Pipes } from "./pipes.ts";

/** What a process has while it is among the others. */
interface Membership {
  name: string;
  calls: Calls;
  pipes: Pipes;
}

/** Bytes of a name, which nobody draws twice. */
const nameBytes = 16;

export class FramedCluster implements Cluster {
  readonly #link: ClusterLink;
  readonly #isLossy: boolean;
  #name = "";
  #state: ClusterState = "down";
  #member: Membership | null = null;
  #stopping: Promise<void> = Promise.resolve();

  /** @param isLossy - Whether the link may lose frames: then both sides of each pipe show now and then that they are there. */
  constructor(link: ClusterLink, { isLossy }: { isLossy: boolean }) {
    this.#link = link;
    this.#isLossy = isLossy;
  }

  get name(): string {
    return this.#name;
  }

  get state(): ClusterState {
    return this.#state;
  }

  async start(context: ClusterContext, handlers: ClusterHandlers): Promise<void> {
    const name = toHex(context.crypto.randomBytes(nameBytes));
    const send = (process: string, frame: ClusterFrame): void => this.#link.send(process, frame);
    const member: Membership = {
      name,
      calls: new Calls({ context, calls: handlers.calls, send }),
      pipes: new Pipes({ context, pipes: handlers.pipes, name, isLossy: this.#isLossy, send }),
    };
    this.#member = member;
    this.#name = name;
    await this.#link.start(name, this.#endsOf(member, handlers));
    this.#state = "up";
  }

  stop(): Promise<void> {
    const member = this.#member;
    if (member === null) return this.#stopping;
    this.#member = null;
    this.#state = "down";
    return (this.#stopping = this.#leave(member));
  }

  ring(position: number): void {
    if (this.#state === "up") this.#link.ring(position);
  }

  async call(process: string, method: string, call: ClusterCall): Promise<JsonObject> {
    return this.#reached().calls.make(process, method, call);
  }

  async open(process: string, method: string, opening: PipeOpening): Promise<Pipe> {
    return this.#reached().pipes.open(process, method, opening);
  }

  #reached(): Membership {
    if (this.#member === null || this.#state === "down") throw lost("down");
    return this.#member;
  }

  async #leave({ calls, pipes }: Membership): Promise<void> {
    const error = lost("stopped");
    calls.end(error);
    pipes.end(error);
    await Promise.all([calls.settled(), pipes.settled()]);
    await this.#link.stop();
  }

  #endsOf(member: Membership, handlers: ClusterHandlers): LinkEnds {
    const { calls, pipes } = member;
    const lose = (reason: Loss, process?: string): void => {
      calls.end(lost(reason), process);
      pipes.end(lost(reason), process);
    };
    return {
      receive: (process, frame) => {
        // Of one that leaves nothing is begun any more.
        if (this.#member !== member && (frame.kind === "call" || frame.kind === "open")) return;
        if (frame.kind === "call" || frame.kind === "answer" || frame.kind === "failure")
          calls.receive(process, frame);
        else pipes.receive(process, frame);
      },
      rang: (process, position) => {
        if (this.#member === member) handlers.rang?.(process, position);
      },
      gone: (process) => lose("gone", process),
      changed: (state) => {
        if (this.#member !== member) return;
        this.#state = state;
        if (state === "down") lose("down");
      },
    };
  }
}
