import { describe, expect, it } from "vitest";
import { cronerCron, silentLogger, type Cron } from "fleetwright";
import type { WindowDocument } from "../../lib/maintenance/documents.ts";
import { WindowBook } from "../../lib/maintenance/window-book.ts";
import { parseSelector } from "../../lib/selectors/parse.ts";
import type { SelectorTarget } from "../../lib/selectors/selector.ts";
import { evilNames, evilSteps } from "../support/evil.ts";
import { seededRandom } from "../support/random.ts";

const startMs = Date.parse("2030-01-01T00:00:00Z");
const hourMs = 3_600_000;
const at = (hours: number): string => new Date(startMs + hours * hourMs).toISOString();
const target = (tags: Record<string, string>): SelectorTarget => ({
  node_id: "0".repeat(32),
  name: null,
  tags,
  attributes: {},
});

function window(id: string, of: Partial<WindowDocument>): WindowDocument {
  const made = { created_by: "system", created_at: at(0), reason: "test", until: 0 };
  return { id, mode: "freeze", starts_at: at(0), ends_at: at(1), ...made, ...of };
}

function counting(): { cron: Cron; asked: () => number } {
  let asked = 0;
  const cron: Cron = {
    next: (schedule, afterMs) => {
      asked += 1;
      return cronerCron.next(schedule, afterMs);
    },
  };
  return { cron, asked: () => asked };
}

const bookOf = (cron: Cron = cronerCron): WindowBook => new WindowBook({ cron, logger: silentLogger });

describe("the windows in memory", () => {
  it("tell whom those are for that are active, overlapping ones each", () => {
    const book = bookOf();
    book.set(window("web", { starts_at: at(0), ends_at: at(2) }), parseSelector("role=web"));
    book.set(window("all", { starts_at: at(1), ends_at: at(3) }), null);
    const ids = (tags: Record<string, string>, hours: number): string[] =>
      book.of(target(tags), startMs + hours * hourMs).map(({ document }) => document.id);
    expect([0, 1, 2, 3].map((hours) => ids({ role: "web" }, hours))).toEqual([
      ["web"],
      ["web", "all"],
      ["all"],
      [],
    ]);
    expect([0, 1].map((hours) => ids({ role: "db" }, hours))).toEqual([[], ["all"]]);
    expect(book.of(null, startMs + hourMs).map(({ document }) => document.id)).toEqual(["all"]);
  });

  it("are right again after a clock was set back", () => {
    const book = bookOf();
    book.set(window("one", { starts_at: at(1), ends_at: at(2) }), null);
    const active = (hours: number): number => book.active(startMs + hours * hourMs).length;
    expect([1.5, 3, 1.5, 0, 1.9].map(active)).toEqual([1, 0, 1, 0, 1]);
  });

  it("work out nothing between two boundaries, however often and of however many agents they are asked", () => {
    const { cron, asked } = counting();
    const book = bookOf(cron);
    const schedule = { cron: "0 * * * *", time_zone: "UTC", duration_minutes: 30 };
    for (let each = 0; each < 50; each += 1)
      book.set(window(`w${each}`, { ends_at: at(100), schedule }), null);
    book.active(startMs);
    const first = asked();
    for (let each = 0; each < 10_000; each += 1) book.of(target({ n: String(each) }), startMs + each);
    expect(asked()).toBe(first);
    expect(book.nextChange(startMs)).toBe(startMs + hourMs / 2);
    expect(book.active(startMs + hourMs / 2)).toEqual([]);
  });

  it("tell of another instant without forgetting the present", () => {
    const book = bookOf();
    book.set(window("one", { starts_at: at(1), ends_at: at(2) }), null);
    expect(book.active(startMs)).toEqual([]);
    const edition = book.edition(startMs);
    expect(book.ofAnyTime(target({}), startMs + 1.5 * hourMs)).toHaveLength(1);
    expect(book.edition(startMs)).toBe(edition);
    const active = book.edition(startMs + 1.5 * hourMs);
    expect(book.ofAnyTime(target({}), startMs)).toEqual([]);
    expect(book.edition(startMs + 1.5 * hourMs)).toBe(active);
  });

  it("tell of a past instant only whom a window was for, and that was active then", () => {
    const book = bookOf();
    book.set(window("web", { starts_at: at(1), ends_at: at(2) }), parseSelector("role=web"));
    book.set(window("all", { starts_at: at(1.5), ends_at: at(3) }), null);
    book.active(startMs + 10 * hourMs);
    const ids = (of: SelectorTarget | null, hours: number): string[] =>
      book.ofAnyTime(of, startMs + hours * hourMs).map(({ document }) => document.id);
    const seen = (of: SelectorTarget | null): string[] =>
      [0.9, 1, 1.5, 2, 3].map((hours) => ids(of, hours).join());
    expect(seen(target({ role: "web" }))).toEqual(["", "web", "web,all", "all", ""]);
    expect(seen(target({ role: "db" }))).toEqual(["", "", "all", "all", ""]);
    expect(seen(null)).toEqual(["", "", "all", "all", ""]);
  });

  it("work out at a boundary only the windows that it is one of", () => {
    const { cron, asked } = counting();
    const book = bookOf(cron);
    for (let each = 0; each < 50; each += 1) {
      const schedule = { cron: `${each} * * * *`, time_zone: "UTC", duration_minutes: 1 };
      book.set(window(`w${each}`, { ends_at: at(100), schedule }), null);
    }
    const activeAt = (minutes: number): string[] =>
      book.active(startMs + minutes * 60_000).map(({ document }) => document.id);
    expect(activeAt(7)).toEqual(["w7"]);
    const before = asked();
    expect([8, 9, 10].map(activeAt)).toEqual([["w8"], ["w9"], ["w10"]]);
    // The one that ends and the one that begins.
    expect(asked() - before).toBe(6);
  });

  it("have the same number until a window begins, ends or is changed, also where a clock was set back", () => {
    const book = bookOf();
    const numberAt = (hours: number): number => book.edition(startMs + hours * hourMs);
    book.set(window("one", { starts_at: at(5), ends_at: at(6) }), null);
    const first = numberAt(2);
    expect([2, 1, 3, 0].map(numberAt)).toEqual([first, first, first, first]);
    const begun = numberAt(5);
    expect(begun).not.toBe(first);
    expect(numberAt(5.5)).toBe(begun);
    expect(numberAt(6)).not.toBe(begun);
    const ended = numberAt(6);
    book.set(window("one", { starts_at: at(5), ends_at: at(7) }), null);
    expect(numberAt(6)).not.toBe(ended);
  });

  it("say the same as each window by itself, at any instants in any order", () => {
    const random = seededRandom(17);
    const below = (most: number): number => Math.floor(random() * most);
    const book = bookOf();
    const all = new Map<string, WindowDocument>();
    /** What was active by each number that the book gave. */
    const numbered = new Map<number, string>();
    let nowMs = startMs;
    for (let step = 0; step < 600; step += 1) {
      const id = evilNames[below(8)]!;
      if (below(5) === 0) {
        book.delete(id);
        all.delete(id);
      } else if (below(3) === 0) {
        const from = below(40);
        const schedule = { cron: `${below(60)} */2 * * *`, time_zone: "UTC", duration_minutes: 45 };
        const of = { starts_at: at(from), ends_at: at(from + 1 + below(40)) };
        const document = window(id, below(2) === 0 ? of : { ...of, schedule });
        book.set(document, null);
        all.set(id, document);
      }
      // Often it is still the same, or about the same, when a window is changed.
      if (below(3) === 0) nowMs = startMs + below(80 * 60) * 60_000;
      nowMs += below(2) === 0 ? 0 : evilSteps[below(6)]!;
      const freshOf = (): WindowBook => {
        const fresh = bookOf();
        for (const document of all.values()) fresh.set(document, null);
        return fresh;
      };
      const fresh = freshOf();
      const ids = (some: WindowBook): string[] =>
        some
          .active(nowMs)
          .map(({ document }) => document.id)
          .toSorted();
      expect(ids(book)).toEqual(ids(fresh));
      expect(book.nextChange(nowMs)).toBe(fresh.nextChange(nowMs));
      const otherMs = below(2) === 0 ? nowMs - below(10) * hourMs : startMs + below(80) * hourMs;
      const found = (some: WindowBook): string[] =>
        some
          .ofAnyTime(null, otherMs)
          .map(({ document }) => document.id)
          .toSorted();
      expect(found(book)).toEqual(found(freshOf()));
      const shown = JSON.stringify(
        book.active(nowMs).map(({ document, occurrence }) => [document, occurrence]),
      );
      const edition = book.edition(nowMs);
      expect(numbered.get(edition) ?? shown).toBe(shown);
      numbered.set(edition, shown);
    }
  });
});
