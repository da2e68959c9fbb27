/** Bugs that several operators meet who change the same things at once. */
import type { Bug } from "./bugs.ts";

export const conflictBugs: readonly Bug[] = [
  {
    name: "a change of an assignment that waited is of the one that has its name by then",
    file: "lib/assignments/assignments.ts",
    from: `      if (before) await this.#requireStill(before);\n`,
    tests: ["test/assignments/again-under-a-name.test.ts"],
  },
  {
    name: "a removal of an assignment that waited is of the one that has its name by then",
    file: "lib/assignments/assignments.ts",
    from: `        await this.#requireStill(stored);\n`,
    tests: ["test/assignments/again-under-a-name.test.ts"],
  },
  {
    name: "a change of a secret is of the one that has its name by then",
    file: "lib/secrets/secrets.ts",
    from: `[this.#put(secret, stored.revision), mark.write()]`,
    to: `[this.#put(secret, stored.revision)]`,
    tests: ["test/secrets/in-the-moment.test.ts"],
  },
];
