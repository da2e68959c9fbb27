/** A call whose storage fails at its first, second, third ... call, each in a life of its own, held against what it must keep. */
import { storageSchema } from "../../lib/storage-schema.ts";
import { MemoryStorage } from "../../lib/storage/memory-storage.ts";
import { type Answer, copyOf, Life, type Moment, type Stored } from "./interrupted-call.ts";
import { isSoak } from "./soak.ts";

/** What was not as promised. */
export interface Finding {
  /** The call of the storage that failed. */
  call: string;
  kind:
    | "refused, and done in part"
    | "refused, and done"
    | "answered, and not done"
    | "refused again"
    | "not the same again"
    | "told otherwise than stored"
    | "listed otherwise after a restart"
    | "can't be made at all";
  seen: string;
}

/** How long what goes on by itself has, each time. */
const patienceMs = 100_000;
/** Most calls behind the first commit that fail, where it is no soak. */
const mostBehind = 4;

/** Fails each call of the storage that a call of the surface makes, once, until it passes. */
export async function interruptEverywhere(moment: Moment): Promise<Finding[]> {
  const isWaiting = moment.procedure !== "agents.refreshAttributes";
  const made = { ...moment, ...(moment.body && isWaiting && { body: withoutWaiting(moment.body) }) };
  const source = new MemoryStorage({ data: copyOf(moment.storage) });
  await source.open(storageSchema);
  const calm = await undisturbed(made, source, false);
  const trial = isSuccess(calm.answer) ? calm : await undisturbed(made, source, true);
  if (!isSuccess(trial.answer)) {
    return [{ call: "none", kind: "can't be made at all", seen: JSON.stringify(trial.answer) }];
  }
  const findings: Finding[] = [];
  const seen = new Set<string>();
  for (const place of placesOf(trial.calls)) {
    const attempt = new Attempt({ moment: made, source, trial, seen });
    const found = await attempt.failAt(place);
    findings.push(...found.map((finding) => ({ ...finding, call: trial.calls[place] ?? "" })));
  }
  await source.close();
  return findings;
}

/**
 * Which calls fail. In a soak each. Else of those up to the first commit, before which nothing is done, the first and the last two; and of
 * those behind it some, spread over all.
 */
function placesOf(calls: readonly string[]): number[] {
  const places = [...calls.keys()];
  if (isSoak) return places;
  const first = calls.findIndex((call) => call.startsWith("commit") && call.includes("append"));
  if (first === -1) return places.slice(-3);
  const behind = places.slice(first + 1);
  const every = Math.ceil(behind.length / mostBehind);
  return [...new Set([0, Math.max(0, first - 1), first])].concat(behind.filter((_, at) => at % every === 0));
}

/** What becomes of a call at whose storage nothing fails. */
interface Undisturbed {
  answer: Answer;
  calls: readonly string[];
  hasMachine: boolean;
  /** Had it not been made. */
  before: Stored;
  after: Stored;
  /** Had it been made as much later as one that is made again. */
  later: Stored;
}

async function undisturbed(moment: Moment, source: MemoryStorage, hasMachine: boolean): Promise<Undisturbed> {
  await using life = await Life.start(moment, { data: copyOf(source), hasMachine });
  const answer = await life.calls.during(() => life.send(moment));
  await life.pass(patienceMs);
  const calls = [...life.calls.made];
  const after = await life.stored();
  await using other = await Life.start(moment, { data: copyOf(source), hasMachine });
  await other.pass(patienceMs);
  const before = await other.stored();
  await other.send(moment);
  await other.pass(patienceMs);
  return { answer, calls, hasMachine, before, after, later: await other.stored() };
}

/** One failure. */
class Attempt {
  readonly #moment: Moment;
  readonly #source: MemoryStorage;
  readonly #trial: Undisturbed;
  /** What was left by other attempts: the same need not be looked at twice. */
  readonly #seen: Set<string>;
  readonly #findings: Omit<Finding, "call">[] = [];

  constructor(parts: { moment: Moment; source: MemoryStorage; trial: Undisturbed; seen: Set<string> }) {
    this.#moment = parts.moment;
    this.#source = parts.source;
    this.#trial = parts.trial;
    this.#seen = parts.seen;
  }

  async failAt(index: number): Promise<Omit<Finding, "call">[]> {
    const { hasMachine, before, after } = this.#trial;
    const life = await Life.start(this.#moment, { data: copyOf(this.#source), hasMachine });
    try {
      life.calls.failing = index;
      const answer = await life.calls.during(() => life.send(this.#moment));
      await life.pass(patienceMs);
      const stored = await life.stored();
      const isDone = this.#difference(after, stored) === "";
      if (isSuccess(answer)) {
        if (!isDone) this.#find("answered, and not done", this.#difference(after, stored));
      } else {
        const more = this.#difference(before, stored);
        if (more !== "") {
          if (isDone) this.#find("refused, and done", "");
          else this.#find("refused, and done in part", more);
        }
        await this.#again(life);
      }
      await this.#compareWithNext(life);
    } finally {
      await life[Symbol.asyncDispose]();
    }
    return this.#findings;
  }

  async #again(life: Life): Promise<void> {
    const again = await life.send(this.#moment);
    await life.pass(patienceMs);
    const { answer, later } = this.#trial;
    if (again.status !== answer.status) this.#find("refused again", JSON.stringify(again));
    const more = this.#difference(later, await life.stored());
    if (more !== "") this.#find("not the same again", more);
  }

  /** What is told and listed now is what is stored, and what the next process tells. */
  async #compareWithNext(life: Life): Promise<void> {
    if (this.#trial.hasMachine) return;
    const { events = [], ...rest } = await life.stored();
    const { told } = life;
    const noted = events.slice(events.length - told.length);
    if (JSON.stringify(noted) !== JSON.stringify(told))
      this.#find("told otherwise than stored", `${noted} ${told}`);
    const state = JSON.stringify([rest, events]);
    if (this.#seen.has(state)) return;
    this.#seen.add(state);
    const { token } = this.#moment;
    const listed = await life.lists(token);
    const moment = { ...this.#moment, nowMs: life.nowMs, secretsKey: life.secretsKey };
    await using next = await Life.start(moment, { data: life.copy(), hasMachine: false });
    for (const [name, items] of Object.entries(await next.lists(token))) {
      const [now, then] = [listed[name], items].map((each) => JSON.stringify(each));
      if (now !== then) this.#find("listed otherwise after a restart", `${name}: ${now} then ${then}`);
    }
  }

  #find(kind: Finding["kind"], seen: string): void {
    this.#findings.push({ kind, seen });
  }

  /**
   * What is there beyond the one and not in the other; empty where nothing is. Where a machine takes part, in its own time: of what the
   * call itself has told.
   */
  #difference(from: Stored, to: Stored): string {
    return this.#trial.hasMachine ? differenceOf(askedFor(from), askedFor(to)) : differenceOf(from, to);
  }
}

/** What there is beyond the one (+) and not in the other (-), a line for each; empty where nothing is. */
export function differenceOf(from: Stored, to: Stored): string {
  return Object.keys(from)
    .flatMap((name) => {
      const [had, has] = [from[name] ?? [], to[name] ?? []];
      const [more, less] = [without(has, had), without(had, has)];
      return [...more.map((each) => `+ ${name} ${each}`), ...less.map((each) => `- ${name} ${each}`)];
    })
    .join("\n");
}

/** Those of the first that the second does not have, as often. */
function without(lines: readonly string[], others: readonly string[]): string[] {
  const left = [...others];
  return lines.filter((line) => {
    const at = left.indexOf(line);
    if (at !== -1) left.splice(at, 1);
    return at === -1;
  });
}

/** What requests have told. */
export function askedFor({ audit = [] }: Stored): Stored {
  return { audit: audit.filter((event) => event.includes('"request_id"')) };
}

export function isSuccess({ status }: Answer): boolean {
  return status < 300;
}

/** Where an answer may come at once, it is to. */
export function withoutWaiting(body: Record<string, unknown>): Record<string, unknown> {
  return "wait_seconds" in body ? { ...body, wait_seconds: 0 } : body;
}
