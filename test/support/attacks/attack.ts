/** What an attack is, and how one is kept up. */
import { setTimeout as pause } from "node:timers/promises";

/** A server under attack, and what attackers have of it. */
export interface Target {
  port: number;
  /** Where agents connect. */
  agentUrl: string;
  /** Tokens of sessions. */
  viewer: string;
  operator: string;
}

/** One way to make trouble. */
export interface Attack {
  /** How many do it at once. */
  hands: number;
  /** How long each of them rests before it does it again, milliseconds. */
  restMs: number;
  /** Does it once. Rejects where the server hung up or refused in a way that ends it. */
  once(target: Target, turn: Turn): Promise<void>;
}

/** Whose turn it is. */
export interface Turn {
  hand: number;
  /** How often this hand did it before. */
  round: number;
  /** Aborts when the attacks are over. */
  signal: AbortSignal;
}

/** How often something was done to the end, and how often it was cut. */
export interface Counts {
  done: number;
  cut: number;
}

/** Keeps an attack up with all its hands until the signal aborts. */
export async function keepUp(
  { hands, restMs, once }: Attack,
  target: Target,
  signal: AbortSignal,
): Promise<Counts> {
  const counts: Counts = { done: 0, cut: 0 };
  const work = async (hand: number): Promise<void> => {
    for (let round = 0; !signal.aborted; round += 1) {
      await once(target, { hand, round, signal }).then(
        () => (counts.done += 1),
        () => (counts.cut += 1),
      );
      await pause(restMs, null, { signal }).catch(() => null);
    }
  };
  await Promise.all(Array.from({ length: hands }, (_, hand) => work(hand)));
  return counts;
}
