import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import { memoryFolder } from "./test/support/memory-folder.ts";

const source = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

// Files that boot copies of this machine and change only those. While they run nothing may change this machine, which is below each copy.
const machines = [
  "test/e2e/**/*.real.test.ts",
  "test/state/resources/{authorized-key,hostname,package,package-repository,timezone}.real.test.ts",
  "test/state/resources/{package,service}/*.real.test.ts",
  "test/state/foreseen/asked-programs.real.test.ts",
];

// Files that change the machine itself, such as its packages and users, that listen to all of its network, or that hold up a whole processor
// and count what that does to others: one after the other, with nothing beside them.
const alone = [
  "test/**/*.real.test.ts",
  "test/{discovery,fuzz,host,transport}/**/*.test.ts",
  "test/adapters/h3/{connections,downloads,half-open,proxied-connections,slow-readers,unread-body}.test.ts",
  "test/faults/led-out.test.ts",
  "test/state/real-machine.test.ts",
  "test/support/machine/**/*.test.ts",
];

// Files that start processes and servers of their own and wait for them: one at a time in each process, as many as there are processors.
const processes = [
  "test/{e2e,faults,native,package}/**/*.test.ts",
  "test/adapters/{cli,client,h3}/**/*.test.ts",
  "test/agent/**/*.test.ts",
  "test/architecture/contributing.test.ts",
  "test/storage/**/*.test.ts",
  "test/support/**/*.test.ts",
  "test/terminals/**/*.test.ts",
];

// Short files that take a minute or more. A fresh checkout has only the sizes of files to go by, and would begin them last.
const long = [
  "architecture/contributing",
  "package/own-ports",
  "cli/completion-shells",
  "how-to-agents.real",
];

class LongFilesFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const isLong = ({ moduleId }: TestSpecification): boolean => long.some((name) => moduleId.includes(name));
    return [...sorted.filter(isLong), ...sorted.filter((file) => !isLong(file))];
  }
}

// Tests import the package by its public name and run the sources, so that a stale build can't pass for a fresh one.
export default defineConfig({
  resolve: {
    alias: [
      { find: /^fleetwright$/, replacement: source("lib/index.ts") },
      { find: /^fleetwright\/errors$/, replacement: source("lib/errors.ts") },
      { find: /^fleetwright\/options$/, replacement: source("lib/option-table.ts") },
      { find: /^fleetwright\/agent$/, replacement: source("lib/agent/index.ts") },
      { find: /^fleetwright\/ports$/, replacement: source("lib/ports.ts") },
      { find: /^fleetwright\/testing$/, replacement: source("lib/testing/index.ts") },
      { find: /^fleetwright\/trpc$/, replacement: source("adapters/trpc/index.ts") },
      { find: /^fleetwright\/rest$/, replacement: source("adapters/rest/index.ts") },
      { find: /^fleetwright\/h3$/, replacement: source("adapters/h3/index.ts") },
      { find: /^fleetwright\/client$/, replacement: source("adapters/client/index.ts") },
      { find: /^fleetwright\/client\/browser$/, replacement: source("adapters/client/browser-signer.ts") },
      { find: /^fleetwright\/client\/node$/, replacement: source("adapters/client/node-signer.ts") },
      { find: /^fleetwright\/cli$/, replacement: source("adapters/cli/index.ts") },
    ],
  },
  test: {
    setupFiles: ["test/support/setup.ts"],
    // Ends what hangs, and nothing that is only slow: machines are shared.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 30_000, interval: 5 } },
    // What files import is loaded once in each process, not for each file: loading takes longer than most tests.
    isolate: false,
    sequence: { sequencer: LongFilesFirst },
    projects: [
      {
        extends: true,
        test: {
          name: "together",
          globalSetup: ["test/support/memory-folder.ts"],
          env: memoryFolder === null ? {} : { TMPDIR: memoryFolder },
          include: ["test/**/*.test.ts"],
          exclude: [...processes, ...machines, ...alone],
          // By itself vitest leaves one processor to others, and runs one file at a time on two.
          maxWorkers: "100%",
          sequence: { groupOrder: 1 },
        },
      },
      {
        extends: true,
        test: {
          name: "processes",
          include: processes,
          exclude: [...machines, ...alone],
          maxWorkers: "100%",
          sequence: { groupOrder: 2 },
        },
      },
      {
        extends: true,
        test: {
          name: "machines",
          include: machines,
          // Each is a machine in memory that boots, and waits for it in between: more than there are processors.
          maxWorkers: 3,
          sequence: { groupOrder: 3 },
        },
      },
      {
        extends: true,
        test: {
          name: "alone",
          include: alone,
          exclude: machines,
          maxWorkers: 1,
          sequence: { groupOrder: 4 },
        },
      },
    ],
  },
});
