/** Bit flips and truncations of a closed data folder: refused with the place, repaired with a reason, or of no consequence. */
import { cpSync, readdirSync, readFileSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { isOrchestratorError } from "../../lib/errors.ts";
import { FileStorage } from "../../lib/storage/file-storage.ts";
import { blobsOf, contentOf, filledSchema, fillFolder, smallSizes } from "../support/filled-folder.ts";
import { seededRandom } from "../support/random.ts";
import { RecordingLogger } from "../support/recording-logger.ts";
import { seedsFor } from "../support/soak.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const seeds = seedsFor({ usual: 200, soak: 5_000 });

interface Damage {
  file: string;
  offset: number;
  kind: "flip" | "cut";
}

test(`damage is never taken for data, ${seeds.length} times`, { timeout: 600_000 }, async () => {
  const original = join(temporaryFolder(), "data");
  await fillFolder({ folder: original });
  const files = readdirSync(original, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(original.length + 1))
    .sort();
  expect(files.length).toBeGreaterThan(10);
  // A start changes files, so that even the untouched folder is read from a copy.
  const untouched = join(temporaryFolder(), "data");
  cpSync(original, untouched, { recursive: true });
  const [content, blobs] = await opened(untouched, (storage) =>
    Promise.all([contentOf(storage), blobsOf(storage)]),
  );
  const outcomes: Record<string, number> = {};
  for (const seed of seeds) {
    const folder = join(temporaryFolder(), "data");
    cpSync(original, folder, { recursive: true });
    const damage = damageTo(folder, files, seededRandom(seed));
    const outcome = await outcomeOf(folder, damage, { content, blobs }).catch((cause: unknown) => {
      throw new Error(
        `Seed ${seed}, ${damage.kind} of ${damage.file} at ${damage.offset}: ${String(cause)}`,
        { cause },
      );
    });
    outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
  }
  console.log(`Damage of ${seeds.length} seeds: ${JSON.stringify(outcomes)}`);
  expect(outcomes["refused"]).toBeGreaterThan(seeds.length / 10);
  expect(outcomes["found in a blob"]).toBeGreaterThan(seeds.length / 20);
});

/** Damages a file where there is something to damage: the zeros ahead of the journal count for nothing. */
function damageTo(folder: string, files: readonly string[], random: () => number): Damage {
  for (;;) {
    const file = files[Math.floor(random() * files.length)] ?? "";
    const path = join(folder, file);
    const content = readFileSync(path);
    const used = content.findLastIndex((byte) => byte !== 0) + 1;
    const offset = Math.floor(random() * used);
    if (used === 0) continue;
    if (random() < 0.3) {
      truncateSync(path, offset);
      return { file, offset, kind: "cut" };
    }
    content[offset] = (content[offset] ?? 0) ^ (1 << Math.floor(random() * 8));
    writeFileSync(path, content);
    return { file, offset, kind: "flip" };
  }
}

/** What became of the damage. Throws where other data was read without a word. */
async function outcomeOf(
  folder: string,
  { file, offset }: Damage,
  original: { content: string; blobs: string[] },
): Promise<string> {
  const logger = new RecordingLogger();
  try {
    return await opened(
      folder,
      async (storage) => {
        const content = await contentOf(storage);
        expect(await blobsOf(storage)).toEqual(original.blobs);
        if (content === original.content) return "harmless";
        // The end of the journal can't be told from a write that a power loss tore.
        expect(JSON.stringify(logger.of("warn"))).toMatch(
          /The torn end of the journal was cut off|A journal segment is shorter than it is made/,
        );
        return "cut off with a reason";
      },
      logger,
    );
  } catch (error) {
    if (!isOrchestratorError(error, "STORAGE_CORRUPT")) throw error;
    const details = error.details as { blob?: string; file: string; offset: number };
    if (details.blob !== undefined) {
      expect(`blobs/${details.blob}.blob`).toBe(file);
      return "found in a blob";
    }
    expect(details.file.startsWith(folder)).toBe(true);
    expect(typeof details.offset).toBe("number");
    if (details.file === join(folder, file)) expect(details.offset).toBeLessThanOrEqual(offset);
    return "refused";
  }
}

async function opened<T>(
  folder: string,
  use: (storage: FileStorage) => Promise<T>,
  logger = new RecordingLogger(),
): Promise<T> {
  const storage = new FileStorage({ folder, logger, ...smallSizes });
  await storage.open(filledSchema);
  try {
    return await use(storage);
  } finally {
    await storage.close();
  }
}
