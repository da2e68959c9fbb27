import type { Bug } from "./bugs.ts";

const told = ["test/state/told-before-changes.test.ts"];
const keys = ["test/state/resources/authorized-key.test.ts"];

/** Bugs in what is told around a change of a machine, and in what is left of it. */
export const changedBugs: readonly Bug[] = [
  {
    name: "a try after one that changed nothing begins without being handed over",
    file: "lib/state/run/capture.ts",
    from: "  item.captured = item.isOurs;\n",
    tests: told,
  },
  {
    name: "what only differs by its turn begins without being handed over",
    file: "lib/state/run/capture.ts",
    from: "handed: captured ? handed : undefined });",
    to: "handed });",
    tests: told,
  },
  {
    name: "a second try is refused because the plan called it otherwise",
    file: "lib/state/run/converge.ts",
    from: "if (!item.begun) run.guard",
    to: "run.guard",
    tests: told,
  },
  {
    name: "a cancel in the middle of a try waits for the time of the next",
    file: "lib/state/run/converge.ts",
    from: "    if (stop.aborted) end();\n",
    tests: ["test/state/run-ends.test.ts"],
  },
  {
    name: "what was cut once cuts whatever comes next",
    file: "lib/state/run/deadline.ts",
    from: "  signal.throwIfAborted();\n  spare",
    to: "  spare",
    tests: ["test/state/deadline.test.ts"],
  },
  {
    name: "a cancelled run drops what is owed",
    file: "lib/state/run/debts.ts",
    from: "    if (this.#isCut) return [];\n",
    tests: ["test/state/owed-dropped.test.ts"],
  },
  {
    name: "a commented key is taken for the key",
    file: "lib/state/resources/authorized-key.ts",
    from: '!line.trimStart().startsWith("#") && ',
    tests: keys,
  },
  {
    name: "a removed key leaves the folder with our mode",
    file: "lib/state/resources/authorized-key.ts",
    from: "if (folder_mode !== undefined || file_mode !== undefined)",
    to: "if (folder_mode !== undefined && file_mode !== undefined)",
    tests: keys,
  },
  {
    name: "a file that is written anew is open to all",
    file: "lib/state/resources/file.ts",
    from: "if (creates) attributes.mode ??= 0o644;",
    to: "attributes.mode ??= 0o644;",
    tests: ["test/state/resources/file.test.ts"],
  },
  {
    name: "a secret is noted on the disk of a machine, in the undo of a script",
    file: "lib/state/resources/script.ts",
    from: "    keepsSpec: ({ undo }) => undo !== undefined,\n",
    tests: ["test/module-format/templates.test.ts"],
  },
  {
    name: "drift is put back on a machine that has gone",
    file: "lib/drift/enforcement.ts",
    from: "    if (!this.#agents.presence.isConnected(node_id)) return;\n",
    tests: ["test/drift/enforcement.test.ts"],
  },
];
