/** Bugs that a reader of the sources thought of, and no test noticed. */
import type { Bug } from "./bugs.ts";

export const strangerBugs: readonly Bug[] = [
  {
    name: "a machine that flapped settles with no alarms, whatever stands",
    file: "lib/thresholds/alarm-upkeep.ts",
    from: "threshold_id === undefined || value.threshold_id === threshold_id",
    to: "value.threshold_id === threshold_id",
    tests: ["test/thresholds/flapped-and-let-go.test.ts"],
  },
  {
    name: "a confined host is led to a folder beside its root whose name begins as the root's does",
    file: "lib/host/local-paths.ts",
    from: "reached.path === root || reached.path.startsWith(`${root}/`)",
    to: "reached.path.startsWith(root)",
    tests: ["test/host/local-host.test.ts"],
  },
  {
    name: "a module that supports several platforms contradicts none",
    file: "lib/module-format/module-comparison.ts",
    from: `return supports.length > 1 ? [{ kind: "or", operands: supports }] : supports;`,
    to: "return supports;",
    tests: ["test/assignments/assignment-agreement.test.ts"],
  },
  {
    name: "a name with capitals that was given up is taken for free",
    file: "lib/agents/replacements.ts",
    from: `await this.#context.storage.get("agent_names", name.toLowerCase())`,
    to: `await this.#context.storage.get("agent_names", name)`,
    tests: ["test/agents/replaced-back.test.ts"],
  },
  {
    name: "of a secret in two versions the newer counts",
    file: "lib/secrets/secret-service.ts",
    from: "Math.min(version, versions.get(name) ?? Infinity)",
    to: "Math.max(version, versions.get(name) ?? 0)",
    tests: ["test/secrets/secrets.test.ts"],
  },
  {
    name: "an id in capitals is found of some kinds only",
    file: "adapters/cli/find-id.ts",
    from: "id.startsWith(typed.toLowerCase())",
    to: "id.startsWith(typed)",
    tests: ["test/adapters/cli/find-id.test.ts"],
  },
  {
    name: "only the first plus sign of a query is a space",
    file: "adapters/rest/parameters.ts",
    from: `decode(text.replaceAll("+", " "), name)`,
    to: `decode(text.replace("+", " "), name)`,
    tests: ["test/adapters/rest/parameters.test.ts"],
  },
  {
    name: "a search misses the event at the seam of two calls",
    file: "lib/audit/listing.ts",
    from: "goOn: reverse ? stretch.newest : stretch.oldest",
    to: "goOn: reverse ? stretch.newest - 1 : stretch.oldest + 1",
    tests: ["test/audit/block-index.test.ts"],
  },
  {
    name: "the name of an operation of a rollout is that of the rollout",
    file: "adapters/cli/output.ts",
    from: `  "operation_id",
  "rollout_id",
`,
    to: `  "rollout_id",
  "operation_id",
`,
    tests: ["test/adapters/cli/output.test.ts"],
  },
];
