import { plainBugs, type Bug } from "./bugs.ts";
import { changedBugs } from "./changed-bugs.ts";
import { clusterBugs } from "./cluster-bugs.ts";
import { deliveryBugs } from "./delivery-bugs.ts";
import { edgeBugs } from "./edge-bugs.ts";
import { featureBugs } from "./feature-bugs.ts";
import { feedBugs } from "./feed-bugs.ts";
import { groupBugs } from "./group-bugs.ts";
import { handoverBugs } from "./handover-bugs.ts";
import { keptBugs } from "./kept-bugs.ts";
import { laneBugs } from "./lane-bugs.ts";
import { liveBugs } from "./live-bugs.ts";
import { lostSyncs } from "./lost-syncs.ts";
import { machineBugs } from "./machine-bugs.ts";
import { machineSideBugs } from "./machine-side-bugs.ts";
import { momentBugs } from "./moment-bugs.ts";
import { outboundBugs } from "./outbound-bugs.ts";
import { ownRestartBugs } from "./own-restart-bugs.ts";
import { programBugs } from "./program-bugs.ts";
import { rarerBugs } from "./rarer-bugs.ts";
import { readerBugs } from "./reader-bugs.ts";
import { restoreBugs } from "./restore-bugs.ts";
import { roomBugs } from "./room-bugs.ts";
import { scopeBugs } from "./scope-bugs.ts";
import { stateBugs } from "./state-bugs.ts";
import { surfaceBugs } from "./surface-bugs.ts";
import { unnoticedBugs } from "./unnoticed-bugs.ts";
import { versionBugs } from "./version-bugs.ts";

export type { Bug } from "./bugs.ts";

/** Every bug on purpose. */
export const bugs: readonly Bug[] = [
  ...lostSyncs,
  ...plainBugs,
  ...changedBugs,
  ...clusterBugs,
  ...deliveryBugs,
  ...edgeBugs,
  ...featureBugs,
  ...feedBugs,
  ...groupBugs,
  ...handoverBugs,
  ...keptBugs,
  ...laneBugs,
  ...liveBugs,
  ...machineBugs,
  ...machineSideBugs,
  ...momentBugs,
  ...outboundBugs,
  ...ownRestartBugs,
  ...programBugs,
  ...rarerBugs,
  ...readerBugs,
  ...restoreBugs,
  ...roomBugs,
  ...scopeBugs,
  ...stateBugs,
  ...surfaceBugs,
  ...unnoticedBugs,
  ...versionBugs,
];
