/** Bugs in the rooms where operations wait and rollouts are told, and where a plan foresees. */
import type { Bug } from "./bugs.ts";

const behind = ["test/operations/removal-behind.test.ts"];

export const roomsBugs: readonly Bug[] = [
  {
    name: "a removal is overtaken by what waits before it in line",
    file: "lib/operations/beginnings.ts",
    from: `      if (grounds?.ahead?.includes(key) && !this.#lanes.isHeld(key)) continue;\n`,
    tests: behind,
  },
  {
    name: "a removal takes away what is held, and comes back after it",
    file: "lib/operations/beginnings.ts",
    from: `grounds?.ahead?.includes(key) && !this.#lanes.isHeld(key)`,
    to: `grounds?.ahead?.includes(key)`,
    tests: behind,
  },
  {
    name: "a removal is overtaken by what ended before it in line",
    file: "lib/operations/applied-modules.ts",
    from: `[operationId, ...(grounds.ahead ?? [])]`,
    to: `[operationId]`,
    tests: behind,
  },
  {
    name: "a group shown without its resources says that there is more where all was skipped for a condition",
    file: "lib/rollouts/rollout-groups.ts",
    from: `total === unchanged || total > unchanged + skipped`,
    to: `skipped >= 0`,
    tests: ["test/rollouts/group-parts.test.ts"],
  },
];
