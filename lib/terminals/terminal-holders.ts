/** Terminals of which another process of the cluster may hold the agent: what is asked of that one, and what it answers. */
import { z } from "zod";
import type { CallMethod } from "../cluster/cluster.ts";
import type { Context } from "../context.ts";
import { isOrchestratorError } from "../errors.ts";
import { parseInput } from "../internal/parse-input.ts";
import type { JsonObject } from "../json.ts";
import { toJsonObject } from "../json.ts";
import type { TerminalDocument } from "./documents.ts";
import type { LiveTerminal } from "./live-terminal.ts";
import type { TerminalEnd } from "./terminal-viewer.ts";

/** The holder waits 30 s for its agent. */
const openMs = 40_000;
const closeMs = 15_000;
/** Figures of a list: it is shown without them where they take longer. */
const figuresMs = 2_000;

const methods = { open: "terminals.open", close: "terminals.close", figures: "terminals.figures" } as const;

const sessionSchema = z.object({ session_id: z.string() });
const sessionsSchema = z.object({ session_ids: z.array(z.string()).max(1_000) });
const figuresSchema = z.record(z.string(), z.object({ viewers: z.number(), bytes: z.number() }));

/** What changes all the time of a terminal that is open. */
export interface TerminalFigures {
  viewers: number;
  bytes: number;
}

/** The terminals of one process. */
export interface HeldTerminals {
  open(document: Readonly<TerminalDocument>): Promise<LiveTerminal>;
  find(sessionId: string): LiveTerminal | null;
  /** Writes how a terminal ended, now or as soon as it can be; never rejects. */
  writeEnd(document: Readonly<TerminalDocument>, end: TerminalEnd): Promise<void>;
  /** Takes a place for one that is about to be opened; the function returned gives it back. */
  reserve(): () => void;
}

export class TerminalHolders {
  readonly #context: Context;
  readonly #held: HeldTerminals;
  /** The name of the process that holds an agent. */
  holderOf: (nodeId: string) => string;

  constructor(context: Context, held: HeldTerminals) {
    this.#context = context;
    this.#held = held;
    this.holderOf = () => context.cluster.name;
  }

  /** Whether this process holds a terminal. */
  isOwn({ holder }: Pick<TerminalDocument, "holder">): boolean {
    return holder === this.#context.cluster.name;
  }

  /** Opens a terminal at its holder. Errors as its holder's, and `UNAVAILABLE`. */
  async open(document: Readonly<TerminalDocument>): Promise<void> {
    if (this.isOwn(document)) return void (await this.#held.open(document));
    try {
      await this.#ask(document.holder, methods.open, { body: toJsonObject(document), timeoutMs: openMs });
    } catch (error) {
      // Nothing where the holder has written it.
      const end = { status: "interrupted", reason: "refused", bytes: 0, recording: "missing" } as const;
      await this.#held.writeEnd(document, end);
      throw error;
    }
  }

  /** Closes a terminal at its holder. Resolves when its end is written: at most 10 s later, where its agent says nothing. */
  async close({ session_id, holder }: Readonly<TerminalDocument>): Promise<void> {
    if (this.isOwn({ holder })) await closeHeld(this.#held, session_id);
    else await this.#ask(holder, methods.close, { body: { session_id }, timeoutMs: closeMs });
  }

  /** The figures of terminals that are open, by session_id; without those of holders that do not answer. */
  async figures(documents: readonly Readonly<TerminalDocument>[]): Promise<Map<string, TerminalFigures>> {
    const byHolder = new Map<string, string[]>();
    for (const { holder, session_id, status } of documents)
      if (status === "active") byHolder.set(holder, [...(byHolder.get(holder) ?? []), session_id]);
    const all = await Promise.all([...byHolder].map(([holder, ids]) => this.#figuresAt(holder, ids)));
    return new Map(all.flatMap((figures) => Object.entries(figures)));
  }

  /** Which of these processes are not there: what they held is lost. */
  async gone(holders: ReadonlySet<string>): Promise<Set<string>> {
    const gone = new Set<string>();
    const look = async (holder: string): Promise<void> => {
      const asked = this.#ask(holder, methods.figures, { body: { session_ids: [] }, timeoutMs: figuresMs });
      await asked.catch((error: unknown) => {
        if (!isOrchestratorError(error, "UNAVAILABLE")) throw error;
        gone.add(holder);
      });
    };
    await Promise.all([...holders].map(look));
    return gone;
  }

  async #figuresAt(holder: string, ids: string[]): Promise<Record<string, TerminalFigures>> {
    if (this.isOwn({ holder })) return figuresOf(this.#held, ids);
    try {
      const body = { session_ids: ids };
      const answer = await this.#ask(holder, methods.figures, { body, timeoutMs: figuresMs });
      return parseInput(figuresSchema, answer);
    } catch (error) {
      this.#context.logger.debug("The holder of terminals did not answer.", { holder, error });
      return {};
    }
  }

  #ask(holder: string, method: string, call: { body: JsonObject; timeoutMs: number }): Promise<JsonObject> {
    return this.#context.cluster.call(holder, method, call);
  }
}

/** What other processes may ask of the terminals of this one. */
export function terminalCalls(held: HeldTerminals): [method: string, answers: CallMethod][] {
  return [
    [
      methods.open,
      async ({ body }) => {
        const release = held.reserve();
        try {
          await held.open(body as unknown as TerminalDocument);
        } finally {
          release();
        }
        return {};
      },
    ],
    [
      methods.close,
      async ({ body }) => {
        await closeHeld(held, parseInput(sessionSchema, body).session_id);
        return {};
      },
    ],
    [
      methods.figures,
      async ({ body }) => toJsonObject(figuresOf(held, parseInput(sessionsSchema, body).session_ids)),
    ],
  ];
}

async function closeHeld(held: HeldTerminals, sessionId: string): Promise<void> {
  const terminal = held.find(sessionId);
  await terminal?.close("closed");
  await terminal?.done;
}

function figuresOf(held: HeldTerminals, ids: readonly string[]): Record<string, TerminalFigures> {
  return Object.fromEntries(
    ids.flatMap((id) => {
      const terminal = held.find(id);
      return terminal ? [[id, { viewers: terminal.viewers, bytes: terminal.window.end }]] : [];
    }),
  );
}
