import { resource, uuid } from "./agent-commands.ts";

const before = resource({ type: "file", path: "/before", content: "before" });
const made = resource({ type: "file", path: "/made", content: "made" });
const later = resource({ type: "file", path: "/later", content: "later" });
/** Says that it runs, then waits to be let go, through named pipes; counts its runs. */
const waiting = resource({
  id: "waiting",
  type: "script",
  run: "echo run >> runs; echo running > began; read line < gate; touch done",
  creates: "/done",
});

const common = { type: "apply" as const, timeout_seconds: 600, allow_empty: false };

/** Makes one file. */
export const firstApply = { ...common, operation_id: uuid(1), resources: [before] };
/** Makes a second file, then waits, then would make a third. */
export const secondApply = { ...common, operation_id: uuid(2), resources: [before, made, waiting, later] };
/** Takes everything away. */
export const removal = { ...common, operation_id: uuid(3), resources: [], allow_empty: true };
