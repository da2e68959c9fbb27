/** Bugs in the rooms where operations wait and rollouts are told, and where a plan foresees. */
import type { Bug } from "./bugs.ts";

const behind = ["test/operations/removal-behind.test.ts"];
const ahead = ["test/operations/unknown-ahead.test.ts"];
const targets = { file: "lib/rollouts/targets.ts", tests: ["test/rollouts/targets.test.ts"] };
const bringers = { file: "lib/state/foreseen/bringers.ts", tests: ["test/state/foreseen/bringers.test.ts"] };

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
  {
    name: "an apply of one module ends while nobody knows how that of another ended",
    file: "lib/operations/beginnings.ts",
    from: `scope === undefined && value.status === "unknown"`,
    to: `value.status === "unknown"`,
    tests: ahead,
  },
  {
    name: "an apply of everything ends though it brings what an unknown one may have brought",
    file: "lib/operations/beginnings.ts",
    from: `named.some((name) => !brings.has(name))`,
    to: `named.length > 0`,
    tests: ahead,
  },
  {
    name: "each group of a rollout begins with a canary",
    ...targets,
    from: `agents.length === 0 && strategy.canary`,
    to: `at === 0 && strategy.canary`,
  },
  {
    name: "every rollout shuffles its agents alike",
    ...targets,
    from: `toUtf8(rolloutId + text)`,
    to: `toUtf8(text)`,
  },
  {
    name: "a plan waits for what is named so in another module",
    ...bringers,
    from: `  if (other.module !== resource.module) return false;\n`,
  },
  {
    name: "a plan waits for what goes away",
    ...bringers,
    from: `below !== null && !bringer.isRemoval && follows`,
    to: `below !== null && follows`,
  },
  {
    name: "a plan knows what is in a folder that something fills from above",
    ...bringers,
    from: `(isWithin(below, place) || isWithin(place, below))`,
    to: `isWithin(below, place)`,
  },
  {
    name: "a plan knows what is in a folder of which something fills a part",
    ...bringers,
    from: `(isWithin(below, place) || isWithin(place, below))`,
    to: `isWithin(place, below)`,
  },
  {
    name: "a plan waits at every place for what may bring anything",
    ...bringers,
    from: `below !== null && below !== "/" && (isWithin(`,
    to: `below !== null && (isWithin(`,
  },
  {
    name: "a folder is taken for one whose name begins so",
    ...bringers,
    from: 'path.startsWith(folder === "/" ? "/" : `${folder}/`)',
    to: `path.startsWith(folder)`,
  },
  {
    name: "what is missing is waited for in a folder whose name begins so",
    ...bringers,
    from: "path.startsWith(`${below}/`)",
    to: `path.startsWith(below)`,
  },
  {
    name: "whatever is refused is waited for",
    ...bringers,
    from: `error.code !== "COMMAND_FAILED" && !isMissing`,
    to: `error.code !== "COMMAND_FAILED" && isMissing`,
  },
  {
    name: "a removal is unknown where it names what comes before",
    ...bringers,
    from: `if (below !== "/" || isRemoval) return false;`,
    to: `if (below !== "/") return false;`,
  },
  {
    name: "the first that a resource names is said to be what it waits for",
    ...bringers,
    from: `among.findLast(`,
    to: `among.find(`,
  },
  {
    name: "an answer that counts for nothing makes everything unknown",
    ...bringers,
    from: `isInVain && places.includes("/")`,
    to: `isInVain`,
  },
  {
    name: "an answer that counts for nothing is believed",
    ...bringers,
    from: `isInVain && places.includes("/") ? this.#done : `,
  },
  {
    name: "a plan waits for what a package brings that it takes away",
    file: "lib/state/foreseen/foresight.ts",
    from: `isRemoval: removal || isToBeAbsent(spec)`,
    to: `isRemoval: isToBeAbsent(spec)`,
    tests: ["test/state/foreseen/unknown.test.ts"],
  },
  {
    name: "who waited for the end of a rollout stays in memory",
    file: "lib/rollouts/rollout-ends.ts",
    from: `      if (waiting.count === 0) this.#waiting.delete(rolloutId);\n`,
    to: ``,
    tests: ["test/rollouts/rollout-ends.test.ts"],
  },
  {
    name: "a group is cut that just fits",
    file: "lib/rollouts/rollout-groups.ts",
    from: `size > groupSize`,
    to: `size >= groupSize`,
    tests: ["test/rollouts/rollout-groups.test.ts"],
  },
  {
    name: "a rollout goes a moment too early",
    file: "lib/rollouts/rollout-retention.ts",
    from: `Date.parse(finished_at ?? "") >= before`,
    to: `Date.parse(finished_at ?? "") > before`,
    tests: ["test/rollouts/rollout-retention.test.ts"],
  },
  {
    name: "the line of an agent that is gone stays in memory",
    file: "lib/operations/lanes.ts",
    from: `    if (queue.length === 0 && running === null && !taking) this.#lanes.delete(nodeId);\n`,
    to: ``,
    tests: ["test/faults/left-in-memory.test.ts"],
  },
  {
    name: "the line of an agent is given away while it is taken from",
    file: "lib/operations/lanes.ts",
    from: `queue.length === 0 && running === null && !taking`,
    to: `queue.length === 0 && running === null`,
    tests: ["test/operations/lanes.test.ts"],
  },
  {
    name: "the line of an agent is given away while something runs",
    file: "lib/operations/lanes.ts",
    from: `queue.length === 0 && running === null && !taking`,
    to: `queue.length === 0 && !taking`,
    tests: ["test/operations/lanes.test.ts"],
  },
  {
    name: "an agent that was dismissed counts as one that refuses all",
    file: "lib/operations/lanes.ts",
    from: `  dismiss(nodeId: string): readonly string[] {\n    this.#refusing.forget(nodeId);\n`,
    to: `  dismiss(nodeId: string): readonly string[] {\n`,
    tests: ["test/operations/lanes.test.ts"],
  },
  {
    name: "agents of one rollout that turn up at once correct its counts side by side",
    file: "lib/operations/outcomes.ts",
    from: `if (known.status !== "unknown" || rollout_id === undefined) return write();`,
    to: `if (known.status === "unknown" || rollout_id === undefined) return write();`,
    tests: ["test/rollouts/rollout-ends.test.ts"],
  },
  {
    name: "bytes of an answer in pieces are sent as the texts of their numbers",
    file: "adapters/rest/node.ts",
    from: `if (pieces.every((piece) => typeof piece === "string"))`,
    to: `if (pieces.length > 0)`,
    tests: ["test/adapters/rest/node.test.ts"],
  },
];
