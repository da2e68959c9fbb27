import type { z } from "zod";
import type { AgentService } from "../agents/agent-service.ts";
import type { Caller } from "../callers/caller.ts";
import type { Context } from "../context.ts";
import { OrchestratorError } from "../errors.ts";
import { parseInput } from "../internal/parse-input.ts";
import type { DatagramSocket, Endpoint } from "../transport/datagrams.ts";
import { writeAnnouncement } from "../wire/discovery-packets.ts";
import { ownUrl, planAnnouncements, type PlannedAnnouncement } from "./announcements.ts";
import { Answers, type HeardAnswer } from "./answers.ts";
import { broadcastInput, type Discovered } from "./schemas.ts";

/** Least time between two calls into the network, milliseconds. */
const restMs = 5_000;
/** Agents believe an announcement whose time is off by so much. */
const believedMs = 5 * 60_000;
/** Calls into the local network for agents that have no orchestrator. */
export class Discovery {
  readonly #context: Context;
  readonly #agents: AgentService;
  /** When the next call may be made, by the monotonic clock. */
  #nextAt = -Infinity;
  /** The time that the newest announcement names. */
  #lastAt: number | null = null;

  constructor(context: Context, agents: AgentService) {
    this.#context = context;
    this.#agents = agents;
  }

  /**
   * Sends one signed announcement into every network of this machine, by IPv4 broadcast and IPv6 multicast, or to one `target`, and
   * waits for the agents that answer. Those without an orchestrator connect, and then wait to be approved.
   *
   * @throws {OrchestratorError} `RATE_LIMITED` within 5 seconds of the call before; `CONFIGURATION_INVALID` where it is not known at
   *   which address agents of these networks reach the server.
   */
  async broadcast(caller: Caller, input: z.input<typeof broadcastInput> = {}): Promise<Discovered> {
    await this.#context.authorize(caller, "discovery.broadcast");
    const { target, timeout_ms } = parseInput(broadcastInput, input);
    const giveBack = this.#takeTurn();
    try {
      const plan = target === undefined ? this.#planAll() : [await this.#planOne(target)];
      if (plan.length === 0) throw noAddress();
      await this.#tell(caller, plan);
      return await this.#announce(plan, timeout_ms);
    } catch (error) {
      giveBack();
      throw error;
    }
  }

  #tell(caller: Caller, plan: readonly PlannedAnnouncement[]): Promise<unknown> {
    const sent_to = plan.map(({ to }) => to);
    return this.#context.commit(caller, [], {
      type: "discovery.announced",
      summary: `An announcement was sent to ${sent_to.slice(0, 3).join(", ")}${sent_to.length > 3 ? " and others" : ""}`,
      metadata: { sent_to: sent_to.slice(0, 100) },
    });
  }

  /** The function returned is for a call that was refused: then another may be made at once. */
  #takeTurn(): () => void {
    const now = this.#context.clock.monotonic();
    if (now < this.#nextAt) {
      const retry_after_seconds = Math.ceil((this.#nextAt - now) / 1_000);
      throw new OrchestratorError("RATE_LIMITED", { details: { retry_after_seconds } });
    }
    const before = this.#nextAt;
    const taken = now + restMs;
    this.#nextAt = taken;
    // Where the name of a target is looked up for long, another may have been made meanwhile.
    return () => void (this.#nextAt = this.#nextAt === taken ? before : this.#nextAt);
  }

  #planAll(): PlannedAnnouncement[] {
    const { served, options } = this.#context;
    return planAnnouncements(options.datagrams.addresses(), { url: options.agentUrl, served });
  }

  async #planOne(target: string): Promise<PlannedAnnouncement> {
    const { served, options } = this.#context;
    const route = await options.datagrams.routeTo(target);
    if (route === null)
      throw new OrchestratorError("VALIDATION_FAILED", {
        issues: [{ path: ["target"], message: "can't be reached from here" }],
      });
    const { family, address: from, to } = route;
    const isLinkLocal = from.includes("%");
    const url = options.agentUrl ?? ownUrl([{ address: from, family, isLinkLocal }], served);
    if (url === null) throw noAddress();
    return { family, from, interface: from.split("%")[1] ?? "", to, url };
  }

  async #announce(plan: readonly PlannedAnnouncement[], timeoutMs: number): Promise<Discovered> {
    const { crypto, identity } = this.#context;
    const nonce = crypto.randomBytes(16);
    const answers = new Answers({ crypto, nonce, publicKey: identity.publicKey });
    const sending = { nonce, at: this.#nextTime(), timeoutMs, answers };
    const sockets = await Promise.all(plan.map((one) => this.#send(one, sending)));
    try {
      await this.#wait(timeoutMs);
    } finally {
      for (const socket of sockets) socket?.close();
    }
    const sent_to = plan.flatMap(({ to }, at) => (sockets[at] ? [to] : []));
    return { sent_to, responses: this.#toResponses(answers.heard) };
  }

  /**
   * The time that an announcement names, by the wall clock, as agents compare it with theirs. They take one that names no later time than the one
   * before for a repetition, so a clock that was set back is waited for, as far as they believe a time ahead of theirs. After a start the
   * time of the fleet tells where the process before had got to.
   */
  #nextTime(): number {
    const { clock, fleetTime } = this.#context;
    const now = clock.now();
    const last = this.#lastAt ?? fleetTime.now();
    this.#lastAt = last >= now && last - now < believedMs ? last + 1 : now;
    return this.#lastAt;
  }

  /** Sends one announcement; resolves with the socket that hears the answers, null where the network refuses it. */
  async #send(
    plan: PlannedAnnouncement,
    { nonce, at, timeoutMs, answers }: Sending,
  ): Promise<DatagramSocket | null> {
    const { identity, logger, options } = this.#context;
    const { family, from, to, url } = plan;
    let socket: DatagramSocket | null = null;
    try {
      const heard = (packet: Uint8Array, { address }: Endpoint): void => answers.hear(packet, address);
      socket = await options.datagrams.open({ family, address: from, interface: plan.interface, heard });
      const announcement = { nonce, at, spreadMs: Math.floor(timeoutMs / 2), url };
      await socket.send(writeAnnouncement(identity, announcement), {
        address: to,
        port: options.discoveryPort,
      });
      return socket;
    } catch (error) {
      logger.debug("An announcement was not sent.", { error, from, to });
      socket?.close();
      return null;
    }
  }

  #wait(timeoutMs: number): Promise<void> {
    const { clock, leaving } = this.#context;
    return new Promise((resolve) => {
      const done = (): void => {
        timer.cancel();
        leaving.signal.removeEventListener("abort", done);
        resolve();
      };
      const timer = clock.setTimer(timeoutMs, done);
      leaving.signal.addEventListener("abort", done);
      if (leaving.signal.aborted) done();
    });
  }

  #toResponses(answers: readonly HeardAnswer[]): Discovered["responses"] {
    const { registry } = this.#agents;
    return answers
      .map((answer) => ({
        ...answer,
        approval_status: registry.statusOf(answer.node_id) ?? ("unknown" as const),
      }))
      .sort((a, b) => (a.node_id < b.node_id ? -1 : 1));
  }
}

interface Sending {
  nonce: Uint8Array;
  at: number;
  timeoutMs: number;
  answers: Answers;
}

function noAddress(): OrchestratorError {
  return new OrchestratorError("CONFIGURATION_INVALID", {
    message:
      "It is not known where agents of these networks reach the server: have it listen on an address there, or set agentUrl.",
  });
}
