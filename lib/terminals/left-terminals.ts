/**
 * Terminals whose process was killed: any other that lives writes their end, and keeps what was recorded.
 *
 *   open ──its process can't be asked, and its lease is free──▶ settled
 *
 * The cluster alone does not tell: a process that is cut off from the others goes on recording. So each has a lease of the storage for as long
 * as it holds terminals. A process looks when it starts, and every 20 s while others hold any.
 */
import type { Timer } from "../clock.ts";
import type { Context } from "../context.ts";
import { eachPage } from "../storage/each-document.ts";
import { BackgroundWork } from "../upkeep/background-work.ts";
import { SoleDuty } from "../upkeep/sole-duty.ts";
import type { TerminalDocument } from "./documents.ts";
import { writeEnd } from "./terminal-ends.ts";
import { countOutput } from "./transcript.ts";

const lookMs = 20_000;
/** How long a start waits for what was left: it is settled by then, unless recordings are very long. */
const startMs = 5_000;
/** After so long a terminal that this process is to hold is here, or whoever was about to open it here never asked. */
const askedMs = 60_000;
/** How often a process looks that was held up, while another has to itself what it holds. */
const confirmMs = 1_000;
/** For how long a process has to itself what another left. */
const settleMs = 60_000;

interface Parts {
  /** How many terminals this process holds. */
  held: () => number;
  /** Whether it holds this one. */
  isHeld: (sessionId: string) => boolean;
  /** Finds which of some processes can't be asked. */
  gone: (holders: ReadonlySet<string>) => Promise<ReadonlySet<string>>;
}

export class LeftTerminals {
  readonly #context: Context;
  readonly #parts: Parts;
  readonly #work: BackgroundWork;
  #duty: SoleDuty | null = null;
  #isArmed = false;
  /** Terminals that this process is to hold, and may not have been asked to open yet. */
  readonly #watched = new Map<string, Timer>();

  constructor(context: Context, parts: Parts) {
    this.#context = context;
    this.#parts = parts;
    this.#work = new BackgroundWork(context);
    context.feed.follow<TerminalDocument>("terminals", ({ key, document }) => {
      if (document?.value.status !== "active") this.#unwatch(key);
      else if (document.value.holder !== context.cluster.name) this.#arm();
      else this.#watch(key);
    });
  }

  /** Looks, for some seconds before this resolves, and goes on where others hold terminals. The function returned ends it. */
  async start(): Promise<() => Promise<void>> {
    const { cluster } = this.#context;
    const isNeeded = (): boolean => this.#parts.held() > 0;
    const duty = new SoleDuty(this.#context, leaseOf(cluster.name), { began: () => {}, isNeeded });
    await duty.start();
    this.#duty = duty;
    await this.#looked();
    return async () => {
      await this.#work.stop();
      await duty.stop();
    };
  }

  /** This process is about to hold a terminal. Resolves when no other takes it for gone. */
  async hold(): Promise<void> {
    await this.#duty?.look();
  }

  /**
   * Whether a terminal that this process holds is its own still. One that was held up for longer than its lease lasts may have been taken
   * for gone: then the end of the terminal is written, and nothing may be added to its recording.
   */
  async keeps(sessionId: string): Promise<boolean> {
    const duty = this.#duty;
    if (duty === null || duty.isMine) return true;
    const { clock, leaving, storage } = this.#context;
    while (!(await duty.confirm())) {
      if (leaving.signal.aborted) return false;
      await new Promise<void>((resolve) => clock.setTimer(confirmMs, resolve));
    }
    const stored = await storage.get<TerminalDocument>("terminals", sessionId);
    return stored?.value.status === "active";
  }

  #looked(): Promise<void> {
    return new Promise((resolve) => {
      const late = this.#context.clock.setTimer(startMs, resolve);
      this.#work.do(async () => {
        await this.#look();
        late.cancel();
        resolve();
      });
    });
  }

  #arm(): void {
    if (this.#isArmed) return;
    this.#isArmed = true;
    this.#work.after(lookMs, () => this.#look());
  }

  /** Sees to it that a terminal ends that was never opened here: who was about to ask for it was killed, or could neither ask nor write that. */
  #watch(sessionId: string): void {
    if (this.#watched.has(sessionId)) return;
    const timer = this.#work.after(askedMs, async () => {
      if (!this.#parts.isHeld(sessionId)) await this.#writeEnd(sessionId);
    });
    this.#watched.set(sessionId, timer);
  }

  #unwatch(sessionId: string): void {
    this.#watched.get(sessionId)?.cancel();
    this.#watched.delete(sessionId);
  }

  async #look(): Promise<void> {
    this.#isArmed = false;
    let areLeft = true;
    try {
      areLeft = await this.#settleAll();
    } catch (error) {
      this.#context.logger.error("Terminals of processes that are gone were not looked for.", { error });
    }
    if (areLeft) this.#arm();
  }

  /** @returns Whether there are any still, of others that live or that could not be settled. */
  async #settleAll(): Promise<boolean> {
    const { storage, cluster } = this.#context;
    const query = { index: "by_status", equals: ["active"], limit: 100 };
    let areLeft = false;
    for await (const page of eachPage<TerminalDocument>(storage, "terminals", query)) {
      const others = page.map(({ value }) => value).filter(({ holder }) => holder !== cluster.name);
      const gone = await this.#parts.gone(new Set(others.map(({ holder }) => holder)));
      areLeft ||= others.some(({ holder }) => !gone.has(holder));
      for (const holder of gone) {
        const left = others.filter((terminal) => terminal.holder === holder);
        areLeft = (await this.#settle(holder, left)) || areLeft;
      }
    }
    return areLeft;
  }

  async #settle(holder: string, terminals: readonly Readonly<TerminalDocument>[]): Promise<boolean> {
    const lease = await this.#context.storage.lease(leaseOf(holder), settleMs);
    if (lease === null) return true;
    const { leaving, logger } = this.#context;
    let areLeft = false;
    for (const { session_id } of terminals) {
      // A long recording takes a while to be read: the next process reads the rest.
      if (leaving.signal.aborted) break;
      await this.#writeEnd(session_id).catch((error: unknown) => {
        areLeft = true;
        logger.error("The end of a terminal was not written.", { error, session_id });
      });
    }
    await lease.release();
    return areLeft;
  }

  async #writeEnd(session_id: string): Promise<void> {
    const bytes = await countOutput(this.#context, session_id);
    const end = { status: "interrupted", reason: "server_lost", recording: "partial", bytes } as const;
    await writeEnd(this.#context, { session_id }, end);
  }
}

function leaseOf(holder: string): string {
  return `terminals of ${holder}`;
}
