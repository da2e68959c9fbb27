/** Bugs of what a run, a plan and the host do, which readers put in where nothing looked. */
import type { Bug } from "./bugs.ts";

export const engineRoomBugs: readonly Bug[] = [
  {
    name: "the last line of a terminal is never found",
    file: "lib/terminals/transcript.ts",
    from: `  if (rest.length > 0) yield rest.join("");`,
    to: ``,
    tests: ["test/terminals/transcript-pieces.test.ts"],
  },
  {
    name: "a recording that goes on is shown with half an event",
    file: "lib/terminals/transcript.ts",
    from: `recording === "complete" ? pieces`,
    to: `recording !== "partial" ? pieces`,
    tests: ["test/terminals/transcript-pieces.test.ts"],
  },
  {
    name: "an agent of which twenty checks wait was never checked",
    file: "lib/drift/drift-service.ts",
    from: `      if (ended) return ended.key;`,
    to: `      return ended?.key ?? null;`,
    tests: ["test/drift/drift-records.test.ts"],
  },
];
