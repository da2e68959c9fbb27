/**
 * A call that meets somebody else between what it read and what it commits, each time in a life of its own: what comes of both is what would
 * have come of one after the other.
 */
import { storageSchema } from "../../lib/storage-schema.ts";
import { MemoryStorage } from "../../lib/storage/memory-storage.ts";
import { askedFor, differenceOf, isSuccess, withoutWaiting } from "./interrupt-everywhere.ts";
import { type Answer, type CallToSend, copyOf, Life, type Moment, type Stored } from "./interrupted-call.ts";
import type { MetCommit, MetWrite } from "./meeting-storage.ts";

/** What somebody else does, and where that is known by. */
export interface Rival {
  /** Says it all: two of one name do the same. */
  name: string;
  act: (life: Life) => Promise<Answer | null>;
}

/** One meeting: the rival does its part right before this commit of the call. */
export interface Meeting {
  commit: number;
  rival: Rival;
}

/** What was not as one after the other. */
export interface Lost {
  at: number;
  rival: string;
  seen: string;
}

/** What a call does when it meets nobody. */
export interface Course {
  moment: Moment;
  source: MemoryStorage;
  answer: Answer;
  hasMachine: boolean;
  commits: readonly MetCommit[];
}

const patienceMs = 100_000;

/** Makes the call alone. */
export async function courseOf(given: Moment): Promise<Course> {
  const isWaiting = given.procedure !== "agents.refreshAttributes";
  const moment = { ...given, ...(given.body && isWaiting && { body: withoutWaiting(given.body) }) };
  const source = new MemoryStorage({ data: copyOf(moment.storage) });
  await source.open(storageSchema);
  for (const hasMachine of [false, true]) {
    await using life = await Life.start(moment, { data: copyOf(source), hasMachine });
    const answer = await life.commits.during(() => life.send(moment));
    await life.pass(patienceMs);
    if (isSuccess(answer) || hasMachine)
      return { moment, source, answer, hasMachine, commits: life.commits.made };
  }
  throw new Error("unreachable");
}

/** A rival that writes the document with a mark in it. */
export function marking({ collection, key }: Pick<MetWrite, "collection" | "key">): Rival {
  return {
    name: `mark ${collection}/${key}`,
    async act({ storage }) {
      const stored = await storage.get(collection, key);
      if (stored === null) return null;
      const value = { ...stored.value, marked_by: "somebody else" };
      await storage.commit([{ kind: "put", collection, key, value }]);
      return null;
    },
  };
}

/** A rival that makes calls of another process, one after the other; it says what the last was answered. */
export function calling(name: string, calls: readonly CallToSend[]): Rival {
  return {
    name,
    async act(life) {
      let answer: Answer | null = null;
      for (const call of calls) answer = await life.sendToOther(call);
      return answer;
    },
  };
}

/** What each way leaves. */
interface Outcome {
  /** Status and code of the call's answer; null where it was not made. */
  answer: string | null;
  rival: string | null;
  stored: Stored;
}

/** All meetings of one call. */
export class Races {
  readonly #course: Course;
  readonly #orders = new Map<string, Outcome[]>();

  constructor(course: Course) {
    this.#course = course;
  }

  /** Null where it came out as it should. */
  async meet({ commit, rival }: Meeting): Promise<Lost | null> {
    const { moment } = this.#course;
    const met = await this.#live(async (life) => {
      let act: Promise<Answer | null> = Promise.resolve(null);
      life.commits.meeting = {
        commit,
        act: () => (act = rival.act(life)),
      };
      const answer = await life.commits.during(() => life.send(moment));
      return { answer, rival: await act };
    });
    const orders = await this.#ordersOf(rival);
    if (orders.some((order) => difference(order, met) === "")) return null;
    const alone = orders[2]!;
    const isRefused = met.answer?.includes("REVISION_CONFLICT") === true;
    if (isRefused && difference({ ...alone, answer: met.answer }, met) === "") return null;
    const names = ["rival first", "call first", "rival alone"];
    const seen = orders.map((order, at) => `${names[at]}: ${difference(order, met)}`).join("\n");
    return { at: commit, rival: rival.name, seen };
  }

  async #ordersOf(rival: Rival): Promise<Outcome[]> {
    const known = this.#orders.get(rival.name);
    if (known) return known;
    const { moment } = this.#course;
    const orders = [
      await this.#live(async (life) => {
        const done = await rival.act(life);
        return { rival: done, answer: await life.send(moment) };
      }),
      await this.#live(async (life) => {
        const answer = await life.send(moment);
        return { answer, rival: await rival.act(life) };
      }),
      await this.#live(async (life) => ({ answer: null, rival: await rival.act(life) })),
    ];
    this.#orders.set(rival.name, orders);
    return orders;
  }

  async #live(
    act: (life: Life) => Promise<{ answer: Answer | null; rival: Answer | null }>,
  ): Promise<Outcome> {
    const { moment, source, hasMachine } = this.#course;
    await using life = await Life.start(moment, { data: copyOf(source), hasMachine, hasOther: true });
    const { answer, rival } = await act(life);
    await life.pass(patienceMs);
    const stored = await life.stored();
    return {
      answer: answer && said(answer),
      rival: rival && said(rival),
      stored: hasMachine ? askedFor(stored) : stored,
    };
  }
}

function difference(from: Outcome, to: Outcome): string {
  const answers =
    [from.answer, from.rival].join() === [to.answer, to.rival].join()
      ? ""
      : `answers ${to.answer}, ${to.rival} and not ${from.answer}, ${from.rival}\n`;
  return answers + differenceOf(from.stored, to.stored);
}

function said({ status, body }: Answer): string {
  const code = (body as { code?: string } | null)?.code;
  if (code !== undefined) return `${status} ${code}`;
  // What is begun has ended by then, or has not.
  return status === 202 ? "200" : String(status);
}
