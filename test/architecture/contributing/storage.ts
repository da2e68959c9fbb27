/** A storage: one in memory that tells how often it was written to. */
import { changelog, create, insert, type Places } from "./change.ts";

const storage = `/** A storage in memory that tells how often it was written to. */
import { MemoryStorage } from "./memory-storage.ts";
import type { CommitOptions, CommitResult, Write } from "./storage.ts";

/** Keeps everything in memory, and counts the commits that succeeded. */
export class CountingStorage extends MemoryStorage {
  #commits = 0;

  /** How many there were since it was made. */
  get commits(): number {
    return this.#commits;
  }

  override async commit(writes: readonly Write[], options?: CommitOptions): Promise<CommitResult> {
    const result = await super.commit(writes, options);
    this.#commits += 1;
    return result;
  }
}
`;

const test = `import { describe, test } from "vitest";
import { CountingStorage } from "../../lib/storage/counting-storage.ts";
import { MemoryData } from "../../lib/storage/memory-storage.ts";
import { FakeClock } from "../../lib/testing/fake-clock.ts";
import { storageConformance } from "../../lib/testing/storage-conformance.ts";

describe("the counting storage", () => {
  const cases = storageConformance(async () => {
    const [clock, data] = [new FakeClock(), new MemoryData()];
    const again = () => new CountingStorage({ clock, data });
    return { storage: again(), clock, again, dispose: async () => {} };
  });
  for (const { name, promise, needs, run } of cases)
    test.skipIf(needs !== undefined)(\`\${promise}. \${name}\`, run);
});
`;

const page = `# The counting storage

\`CountingStorage\` keeps everything in memory, as \`MemoryStorage\` does, and tells in \`commits\` how often it was written to. It costs what that one costs, needs nothing, and is gone with its process: there is nothing to back up.
`;

export const ownStorage: Places = {
  Storage: create("lib/storage/counting-storage.ts", storage),
  Export: insert(
    "lib/index.ts",
    "// What the verbs take and return",
    'export { CountingStorage } from "./storage/counting-storage.ts";\n',
  ),
  Test: create("test/storage/counting-conformance.test.ts", test),
  Page: create("docs/counting-storage.md", page),
  Changelog: changelog("`CountingStorage` tells how often it was written to."),
};
