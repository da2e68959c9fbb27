/**
 * Tells the orchestrator what kind of machine this is: when a connection begins, when it asks, after an apply that changed something, and when
 * the owner of the machine changes what he adds.
 */
import { type Clock, type Timer, toTimestamp } from "../clock.ts";
import type { Host } from "../host/host.ts";
import type { Logger } from "../logger.ts";
import { version as agentVersion } from "../version.ts";
import type { AgentMessage, Attributes } from "../wire/messages.ts";
import { collectAttributes } from "./attributes.ts";
import { CustomAttributes } from "./custom-attributes.ts";

/** How often what the owner adds is looked at, milliseconds. */
const lookMs = 60_000;

/** What attributes are read and sent with. */
export interface AttributeReportsOptions {
  stateDir: string;
  /** Folder that stands for `/`. Absent: the whole machine. */
  root: string | undefined;
  host: Host;
  clock: Clock;
  logger: Logger;
  /** Sends a message; false where there is no connection for it. */
  send: (message: AgentMessage) => boolean;
}

/** Tells what kind of machine this is. */
export class AttributeReports {
  readonly #options: AttributeReportsOptions;
  readonly #custom: CustomAttributes;
  /** What the owner adds, as it was sent last over this connection. */
  #sent = "";
  #timer: Timer | null = null;
  /** Whether programs of the owner are asked, and whether they are to be asked again then: what they print may be of before. */
  #isAsking = false;
  #isOwed = false;
  #isStopped = false;

  constructor(options: AttributeReportsOptions) {
    this.#options = options;
    this.#custom = new CustomAttributes(options);
  }

  /** There is a connection: tells all of it, and from now on what the owner changes, within a minute. */
  begin(): void {
    this.pause();
    this.report();
    this.#arm();
  }

  /** There is none any more. */
  pause(): void {
    this.#timer?.cancel();
    this.#timer = null;
  }

  /** Tells nothing any more. */
  stop(): void {
    this.#isStopped = true;
    this.pause();
    this.#custom.stop();
  }

  /**
   * Tells all of it now; where programs of the owner have to be asked, when they have answered, five seconds later at most, and as much later
   * where they are asked already.
   */
  report(): void {
    if (this.#isAsking) this.#isOwed = true;
    else this.#withCustom((custom) => this.#send(custom));
  }

  #arm(): void {
    this.#timer = this.#options.clock.setTimer(lookMs, () => {
      this.#arm();
      if (this.#isAsking) return;
      this.#withCustom((custom) => {
        if (this.#timer !== null && JSON.stringify(custom) !== this.#sent) this.#send(custom);
      });
    });
  }

  /** At once where there are no programs, so that what is told stands in order with all else that is sent. */
  #withCustom(take: (custom: Attributes) => void): void {
    const entries = this.#custom.list();
    const programs = entries.filter(({ isProgram }) => isProgram);
    if (programs.length === 0) return take(this.#custom.read(entries));
    this.#isAsking = true;
    void this.#custom.run(programs).then((printed) => {
      this.#isAsking = false;
      // Ended with the agent, they had no time to print anything.
      if (this.#isStopped) return;
      take(this.#custom.read(entries, printed));
      const isOwed = this.#isOwed;
      this.#isOwed = false;
      if (isOwed) this.report();
    });
  }

  #send(custom: Attributes): void {
    const { root, clock, logger, send } = this.#options;
    try {
      const attributes = collectAttributes({ agentVersion, custom, ...(root !== undefined && { root }) });
      if (send({ type: "attributes", attributes, collected_at: toTimestamp(clock.now()) }))
        this.#sent = JSON.stringify(custom);
    } catch (error) {
      logger.error("The attributes could not be read.", { error });
    }
  }
}
