/** What people make of a rollout on its way. */
import type { Permission } from "../callers/permissions.ts";
import type { RolloutDocument } from "./documents.ts";
import { rolloutFacts, rolloutSubject, titleOf, type RolloutChange } from "./rollout-store.ts";
import type { RolloutStatus } from "./schemas.ts";

export interface Transition {
  permission: Permission;
  from: readonly RolloutStatus[];
  change: (rollout: Readonly<RolloutDocument>) => RolloutChange;
}

export const pausing: Transition = {
  permission: "rollouts.pause",
  from: ["running"],
  change: (rollout) => ({
    rollout: { ...rollout, status: "paused" },
    event: {
      type: "rollout.paused",
      target: rolloutSubject(rollout),
      summary: `The rollout of ${titleOf(rollout)} was paused`,
      metadata: rolloutFacts(rollout),
    },
  }),
};

export const resuming: Transition = {
  permission: "rollouts.resume",
  from: ["paused"],
  change: (rollout) => ({
    rollout: { ...rollout, status: "running" },
    event: {
      type: "rollout.resumed",
      target: rolloutSubject(rollout),
      summary: `The rollout of ${titleOf(rollout)} was resumed`,
      metadata: rolloutFacts(rollout),
    },
  }),
};

/** @param who - Name of whoever cancels. */
export function cancelling(who: string): Transition {
  return {
    permission: "rollouts.cancel",
    from: ["running", "paused"],
    change: (rollout) => ({
      rollout: {
        ...rollout,
        status: "stopping",
        ending: "cancelled",
        reason: `The rollout was cancelled by ${who}.`,
      },
      event: {
        type: "rollout.cancelled",
        target: rolloutSubject(rollout),
        summary: `The rollout of ${titleOf(rollout)} was cancelled`,
        metadata: rolloutFacts(rollout),
      },
    }),
  };
}
