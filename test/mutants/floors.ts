import { readFileSync, writeFileSync } from "node:fs";

/** What the tests of a room noticed, in percent of the mutants of a sample that are not equivalent. */
interface Measured {
  room: string;
  /** Percent of the room's mutants, as text; "100" = all. */
  sample: string;
  score: number;
}

type Floors = Record<string, Record<string, number>>;

const file = new URL("floors.json", import.meta.url);

/** Tells whether a room has not sunk below its floor. `raise` writes a better score down as the new floor: it never sinks. */
export function holdsFloor({ room, sample, score }: Measured, raise: boolean): boolean {
  const floors = JSON.parse(readFileSync(file, "utf8")) as Floors;
  const floor = floors[room]?.[sample] ?? 0;
  // A floor has one digit, and is never above what was measured.
  const reached = Math.floor(score * 10) / 10;
  if (reached < floor) console.error(`The floor of ${room} is ${floor} %.`);
  if (raise && reached > floor) {
    floors[room] = { ...floors[room], [sample]: reached };
    const sorted = Object.fromEntries(Object.entries(floors).toSorted(([a], [b]) => (a < b ? -1 : 1)));
    writeFileSync(file, `${JSON.stringify(sorted, null, 2)}\n`);
  }
  return reached >= floor;
}
