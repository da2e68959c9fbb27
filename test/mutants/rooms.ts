/** The rooms whose tests are tried with mutants: which tests must kill them, and the part that they killed at least once. */

/** A room, and what is known of its tests. */
export interface Room {
  /** Folders of tests that must notice a mutant of the room. */
  readonly tests: readonly string[];
  /** Percent of the mutants that are not equivalent. It only rises; absent = never measured as a whole. */
  readonly floor?: number;
}

export const rooms: Readonly<Record<string, Room>> = {
  "lib/access": { tests: ["test/access", "test/clocks"] },
  "lib/agent": { tests: ["test/agent"] },
  "lib/audit": { tests: ["test/audit"] },
  "lib/host": { tests: ["test/host"] },
  "lib/idempotency": { tests: ["test/idempotency"] },
  "lib/maintenance": { tests: ["test/maintenance"] },
  "lib/notifications": { tests: ["test/notifications"] },
  "lib/operations": { tests: ["test/operations", "test/rollouts", "test/drift"] },
  "lib/rollouts": { tests: ["test/rollouts"] },
  "lib/selectors": { tests: ["test/selectors"] },
  "lib/state": { tests: ["test/state"] },
  "lib/storage": { tests: ["test/storage", "test/faults"] },
  "lib/transport": { tests: ["test/transport"] },
  "lib/wire": { tests: ["test/wire"] },
  "adapters/client": { tests: ["test/adapters/client"] },
  "adapters/h3": { tests: ["test/adapters/h3"] },
  "adapters/rest": { tests: ["test/adapters/rest", "test/adapters/openapi.test.ts"] },
  "adapters/trpc": { tests: ["test/adapters/trpc"] },
};
