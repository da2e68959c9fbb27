import { expect, it } from "vitest";
import { DueQueue } from "../../lib/drift/due-queue.ts";
import { evilNames, evilSteps } from "../support/evil.ts";
import { seededRandom } from "../support/random.ts";

it("gives out what is due, the longest due first, and nothing else", () => {
  const queue = new DueQueue();
  queue.set("late", 30);
  queue.set("early", 10);
  queue.set("middle", 20);
  expect(queue.earliest()).toBe(10);
  expect([queue.take(25), queue.take(25), queue.take(25)]).toEqual(["early", "middle", null]);
  expect(queue.earliest()).toBe(30);
  expect(queue.has("late")).toBe(true);
  expect(queue.has("early")).toBe(false);
});

it("forgets what was said before of a key that is set anew or deleted", () => {
  const queue = new DueQueue();
  queue.set("moved", 10);
  queue.set("moved", 50);
  queue.set("gone", 20);
  queue.delete("gone");
  expect(queue.take(40)).toBeNull();
  expect(queue.earliest()).toBe(50);
  expect(queue.take(50)).toBe("moved");
  expect(queue.take(1_000)).toBeNull();
});

it("keeps its order where the same keys are set again and again, as by agents that come and go", () => {
  const queue = new DueQueue();
  const keys = evilNames.slice(0, 12);
  const random = seededRandom(3);
  const expected = new Map<string, number>();
  for (let step = 0; step < 1_000; step += 1) {
    const key = keys[step % keys.length]!;
    const due = Math.floor(random() * 1_000_000);
    queue.set(key, due);
    expected.set(key, due);
    expect(queue.earliest()).toBe(Math.min(...expected.values()));
  }
  const taken = keys.map(() => expected.get(queue.take(1_000_000)!));
  expect(taken).toEqual([...expected.values()].toSorted((a, b) => a - b));
});

it("agrees with a sorted list, whatever is done to it", () => {
  const random = seededRandom(7);
  const queue = new DueQueue();
  const expected = new Map<string, number>();
  let now = 0;
  for (let step = 0; step < 20_000; step += 1) {
    const key = evilNames[Math.floor(random() * evilNames.length)]!;
    now += evilSteps[Math.floor(random() * evilSteps.length)]!;
    const due = random() < 0.5 ? now : now + Math.floor(random() * 1_000);
    if (random() < 0.6) {
      queue.set(key, due);
      expected.set(key, due);
    } else if (random() < 0.3) {
      queue.delete(key);
      expected.delete(key);
    } else {
      const least = Math.min(...expected.values());
      expect(queue.earliest()).toBe(expected.size === 0 ? null : least);
      const taken = queue.take(due);
      if (taken === null) expect(least).toBeGreaterThan(due);
      else expect(expected.get(taken)).toBe(least);
      if (taken !== null) expected.delete(taken);
    }
  }
});
