import { resource, uuid } from "../agent-commands.ts";

/** Files that stood before, and one that did not. */
export const killedPaths = ["one", "two", "three", "new"] as const;

const common = { type: "apply" as const, timeout_seconds: 600, allow_empty: true };

/** Changes them all. */
export const killedApply = {
  ...common,
  operation_id: uuid(1),
  resources: killedPaths.map((name) => resource({ type: "file", path: `/${name}`, content: "ours" })),
};
/** Takes everything away. */
export const killedRemoval = { ...common, operation_id: uuid(2), resources: [] };
