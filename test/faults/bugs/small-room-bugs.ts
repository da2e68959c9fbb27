/** Bugs of small rooms that nobody had measured. */
import type { Bug } from "./bugs.ts";

export const smallRoomBugs: readonly Bug[] = [
  {
    name: "nothing old is ever removed again after the storage was out of reach once",
    file: "lib/upkeep/retention-clock.ts",
    from: `this.#looks = look.catch(() => {});`,
    to: `this.#looks = look;\n    look.catch(() => {});`,
    tests: ["test/upkeep/retention-clock.test.ts"],
  },
  {
    name: "the log is warned of a clock far ahead with every look",
    file: "lib/upkeep/retention-clock.ts",
    from: `isHeld !== holds(before)`,
    to: `isHeld`,
    tests: ["test/upkeep/retention-clock.test.ts"],
  },
  {
    name: "a server that stops takes a duty that it was giving up",
    file: "lib/upkeep/sole-duty.ts",
    from: `    if (this.#state !== "beating") return;\n    this.#state = "idle";`,
    to: `    this.#state = "idle";`,
    tests: ["test/upkeep/sole-duty.test.ts"],
  },
  {
    name: "a server that has stopped takes a duty where somebody asks whether it has it",
    file: "lib/upkeep/sole-duty.ts",
    from: `if (this.isMine || this.#state !== "beating") return this.isMine;`,
    to: `if (this.isMine) return true;`,
    tests: ["test/upkeep/sole-duty.test.ts"],
  },
  {
    name: "a server waits for a minute to end where something failed as it stopped",
    file: "lib/upkeep/background-work.ts",
    from: `    if (this.#stopped) return { cancel: () => {} };\n`,
    tests: ["test/upkeep/background-work.test.ts"],
  },
  {
    name: "what failed for good is tried again for ever",
    file: "lib/upkeep/background-work.ts",
    from: `        if (!mayPass(error)) return;\n`,
    tests: ["test/upkeep/background-work.test.ts"],
  },
];
