/**
 * Somebody who can write the data folder edits, reorders or cuts the files of the audit log, with checksums calculated anew and, some of
 * the time, hashes too: the first event that does not fit is named. FLEETWRIGHT_SEEDS="<first>-<last>" runs other seeds.
 */
import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { FileStorage, isOrchestratorError, systemCaller } from "fleetwright";
import { createTestOrchestrator } from "fleetwright/testing";
import type { JsonObject } from "../../lib/json.ts";
import { decodeRecord, encodeRecord } from "../../lib/storage/file/record.ts";
import { chainHash, zeroHash } from "../../lib/storage/hash-chain.ts";
import { seededRandom } from "../support/random.ts";
import { seedsFor } from "../support/soak.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const sizes = { segmentBytes: 16_384, minJournalBytes: 16_384, logSegmentBytes: 4_096 };
const seeds = seedsFor({ usual: 32, soak: 5_000 });

interface Line {
  sequence: number;
  entry: { at: number; hash: string; value: JsonObject };
}

/** Of the sequences, one must be the first that does not fit: from and to. */
type Range = readonly [from: number, to: number];

/** What is done to the lines; returns the first sequence that does not fit any more, or between which it is. */
type Tampering = (lines: Line[], at: number) => number | Range;

/** So many of the newest events may stand in the journal as well, which counts: as many as came since it was last put into the files. */
const mayBeInJournal = 16;

/** 90 changes and a removal. */
const head = 91;

/** The newest events are not in the files yet, but in the journal; the newest of all is compared with the head. */
const behind = (sequence: number): number => Math.min(sequence + 1, head);

function edit({ entry }: Line): void {
  entry.value = { ...entry.value, summary: `${String(entry.value["summary"])}, or so they say` };
}

/** Puts a hash into a line that fits what is before it. */
function rehash(lines: Line[], at: number): void {
  const { sequence, entry } = lines[at]!;
  const previous = lines[at - 1]?.entry.hash ?? zeroHash;
  entry.hash = chainHash(previous, { sequence, at: entry.at, value: entry.value });
}

const tamperings: Record<string, Tampering> = {
  "edits an event": (lines, at) => {
    edit(lines[at]!);
    return lines[at]!.sequence;
  },
  "edits an event, and its hash": (lines, at) => {
    edit(lines[at]!);
    rehash(lines, at);
    // It fits what is before it; what comes after does not, or the head does not.
    return behind(lines[at]!.sequence);
  },
  "edits an event, and every hash from there on": (lines, at) => {
    edit(lines[at]!);
    for (let next = at; next < lines.length; next += 1) rehash(lines, next);
    // The first that the journal has does not fit, or the head.
    return [lines[at]!.sequence + 1, behind(lines.at(-1)!.sequence)];
  },
  "changes when an event was written": (lines, at) => {
    lines[at]!.entry.at += 1;
    return lines[at]!.sequence;
  },
  "exchanges two events": (lines, at) => {
    const other = at === 0 ? 1 : at - 1;
    const [a, b] = [lines[at]!, lines[other]!];
    [a.entry, b.entry] = [b.entry, a.entry];
    return Math.min(a.sequence, b.sequence);
  },
  "takes an event out, and moves the rest up": (lines, at) => {
    const { sequence } = lines[at]!;
    const entries = lines.map(({ entry }) => entry);
    entries.splice(at, 1);
    lines.pop();
    for (const [n, line] of lines.entries()) line.entry = entries[n]!;
    return sequence;
  },
  "puts an event in, and moves the rest down": (lines, at) => {
    const { sequence } = lines[at]!;
    const entries = lines.map(({ entry }) => entry);
    entries.splice(at, 0, structuredClone(entries[at]!));
    edit({ sequence, entry: entries[at]! });
    for (const [n, line] of lines.entries()) line.entry = entries[n]!;
    return sequence;
  },
  "cuts the end off": (lines, at) => {
    const { sequence } = lines[at]!;
    lines.length = at;
    return sequence;
  },
};

const names = Object.keys(tamperings);

test(
  `whoever tampers with the files is found out at the first event that does not fit, ${seeds.length} times`,
  { timeout: 600_000 },
  async () => {
    const original = join(temporaryFolder(), "data");
    {
      await using fleet = await createTestOrchestrator({
        storage: new FileStorage({ folder: original, ...sizes }),
      });
      for (let days = 1; days <= 90; days += 1) {
        await fleet.orchestrator.audit.setRetention(systemCaller, { retention_days: days });
        await fleet.clock.advance(1_000);
        if (days === 40)
          await fleet.orchestrator.audit.prune(systemCaller, {
            before: new Date(fleet.clock.now() - 25_000).toISOString(),
          });
      }
    }
    expect(filesOf(original).length).toBeGreaterThan(4);
    const outcomes: Record<string, number> = {};
    for (const seed of seeds) {
      const random = seededRandom(seed);
      const name = names[seed % names.length]!;
      const folder = join(temporaryFolder(), "data");
      cpSync(original, folder, { recursive: true });
      const first = tamper(folder, tamperings[name]!, random);
      const found = await verify(folder).catch((cause: unknown) => {
        throw new Error(`Seed ${seed}, ${name}`, { cause });
      });
      const [from, to] = typeof first === "number" ? [first, first] : first;
      expect(
        found === "refused" || (typeof found === "number" && from <= found && found <= to),
        `seed ${seed} ${name}: ${found} in place of ${String(first)}`,
      ).toBe(true);
      const outcome = `${name}: ${found === "refused" ? "does not start" : "named"}`;
      outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
      rmSync(folder, { recursive: true });
    }
    console.log(`Tampered with ${seeds.length} times: ${JSON.stringify(outcomes, null, 1)}`);
    expect(await verify(original)).toBe("valid");
    // Where the newest file lacks its last event, nothing starts: the journal before it is gone.
    for (const name of names.filter((each) => !/cuts|takes/.test(each)))
      expect(outcomes[`${name}: named`] ?? 0, name).toBeGreaterThan(0);
  },
);

function filesOf(folder: string): string[] {
  const logs = join(folder, "logs", "audit");
  return readdirSync(logs)
    .sort()
    .map((name) => join(logs, name));
}

/** Rewrites the files of the log, with checksums that fit. Returns the first sequence that does not. */
function tamper(folder: string, tampering: Tampering, random: () => number): number | Range {
  const files = filesOf(folder);
  const lines: Line[] = [];
  const ends: number[] = [];
  for (const file of files) {
    const bytes = readFileSync(file);
    for (let record = decodeRecord(bytes, 0); record; record = decodeRecord(bytes, record.end))
      lines.push({ sequence: record.sequence, entry: JSON.parse(record.text) as Line["entry"] });
    ends.push(lines.length);
  }
  // What was pruned may still stand in the first file, and is no part of the log any more.
  const begin = lines.findIndex(({ entry }) => String(entry.value["event_type"]) === "audit.pruned");
  expect(begin).toBeGreaterThanOrEqual(0);
  const at = begin + Math.floor(random() * (lines.length - begin - mayBeInJournal));
  const first = tampering(lines, at);
  for (const [n, file] of files.entries()) {
    const own = lines.slice(n === 0 ? 0 : ends[n - 1]!, ends[n]!);
    writeFileSync(
      file,
      Buffer.concat(own.map(({ sequence, entry }) => encodeRecord(sequence, JSON.stringify(entry)))),
    );
  }
  return first;
}

/** What a server over the folder says: the first sequence that does not fit, or that it does not start. */
async function verify(folder: string): Promise<number | "valid" | "refused"> {
  try {
    await using fleet = await createTestOrchestrator({ storage: new FileStorage({ folder, ...sizes }) });
    const { valid, first_bad_sequence } = await fleet.orchestrator.audit.verify(systemCaller);
    return valid ? "valid" : first_bad_sequence!;
  } catch (error) {
    if (isOrchestratorError(error, "STORAGE_CORRUPT")) return "refused";
    throw error;
  }
}
