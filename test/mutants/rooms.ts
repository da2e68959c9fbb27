/**
 * The rooms whose tests are tried with mutants: folders and files of tests that must notice a mutant of the room. A test that starts a
 * process of its own notices none of them there: mutants are switched on in the process of the tests alone. A room within a room is left
 * out of the outer one.
 */
export const rooms: Readonly<Record<string, readonly string[]>> = {
  "lib/access": [
    "test/access",
    "test/adapters/access-matrix.test.ts",
    "test/clocks",
    "test/event-feed/event-feed.test.ts",
    "test/managed-by.test.ts",
  ],
  "lib/agent": ["test/agent"],
  "lib/audit": ["test/audit"],
  "lib/host": ["test/host"],
  "lib/idempotency": ["test/idempotency"],
  "lib/maintenance": ["test/maintenance", "test/notifications/inbox/notifications.test.ts"],
  "lib/notifications": ["test/notifications"],
  "lib/operations": [
    "test/operations",
    "test/restores",
    "test/rollouts/rollouts.test.ts",
    "test/agents/replaced-back.test.ts",
    "test/maintenance/held-ends.test.ts",
    "test/maintenance/held-races.test.ts",
    "test/maintenance/held-work.test.ts",
    "test/maintenance/override-window.test.ts",
  ],
  "lib/rollouts": [
    "test/rollouts",
    "test/runs",
    "test/maintenance/frozen-machines.test.ts",
    "test/maintenance/held-work.test.ts",
    "test/maintenance/override-window.test.ts",
    "test/schedules/unreadable.test.ts",
  ],
  "lib/selectors": ["test/selectors"],
  // Before the room that holds them: all of its tests at once need more memory than there is.
  "lib/state/foreseen": ["test/state/foreseen", "test/state/plan-*.test.ts"],
  "lib/state/resources": ["test/state/resources", "test/state/removal"],
  "lib/state/run": [
    "test/state/*.test.ts",
    "test/state/removal",
    "test/state/resources/archive/beside-others.test.ts",
  ],
  "lib/state": ["test/state/*.test.ts", "test/state/resources/shared"],
  "lib/storage": ["test/storage", "test/faults/damage.test.ts", "test/faults/power-loss.test.ts"],
  "lib/transport": ["test/transport"],
  "lib/wire": ["test/wire"],
  "adapters/client": [
    "test/adapters/client",
    "test/adapters/cli/ssh-keys.test.ts",
    "test/adapters/h3/terminal-socket.test.ts",
    "test/security/rogue-server.test.ts",
  ],
  "adapters/h3": ["test/adapters/h3"],
  "adapters/rest": [
    "test/adapters/rest",
    "test/adapters/openapi.test.ts",
    "test/adapters/conventions.test.ts",
    "test/adapters/keyed-sign-in.test.ts",
  ],
  "adapters/trpc": [
    "test/adapters/trpc",
    "test/adapters/h3/trpc-conditions.test.ts",
    "test/adapters/h3/trpc-keyed-calls.test.ts",
    "test/adapters/h3/trpc-reads.test.ts",
    "test/adapters/conventions.test.ts",
    "test/adapters/access-matrix.test.ts",
    "test/adapters/audience.test.ts",
    "test/adapters/audited-calls.test.ts",
    "test/adapters/described-headers.test.ts",
    "test/adapters/permission-first.test.ts",
    "test/adapters/raced-calls.test.ts",
    "test/adapters/rows.test.ts",
  ],
};
