import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

const source = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

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
    include: ["test/**/*.test.ts"],
    setupFiles: ["test/support/setup.ts"],
    testTimeout: 20_000,
    hookTimeout: 30_000,
  },
});
