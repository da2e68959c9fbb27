import type { ResourceResult } from "../../lib/state/result.ts";

/** What a check finds of a file that somebody edited. */
export const motdDifference: ResourceResult = {
  module: "motd",
  resource_id: "file:/etc/motd",
  type: "file",
  identity: "/etc/motd",
  outcome: "would_change",
  action: "update",
  changes: [],
  caused_by: [],
  attempts: 1,
  duration_ms: 1,
};
