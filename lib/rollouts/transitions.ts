/** What people make of a rollout on its way. */
import { toSubject, type Caller } from "../callers/caller.ts";
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

/** @param caller - Whoever cancels; the reason names them. */
export function cancelling(caller: Caller): Transition {
  return {
    permission: "rollouts.cancel",
    from: ["running", "paused"],
    change: (rollout) => ({
      rollout: {
        ...rollout,
        status: "stopping",
        ending: "cancelled",
        reason: `The rollout was cancelled by ${toSubject(caller).name}.`,
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

/** As {@link cancelling}, of a command: it is ended where it runs, too. One that is stopping goes on to end as it would have. */
export function cancellingRun(caller: Caller): Transition {
  const { permission, from, change } = cancelling(caller);
  const { origin } = caller;
  const cancelled_by = { ...toSubject(caller), ...(origin && { origin: { ...origin } }) };
  return {
    permission,
    from: [...from, "stopping"],
    change: (rollout) => {
      if (rollout.status === "stopping") return { rollout: { cancelled_by, ...rollout } };
      const changed = change(rollout);
      return { ...changed, rollout: { ...changed.rollout, cancelled_by } };
    },
  };
}
