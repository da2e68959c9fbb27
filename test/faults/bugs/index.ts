import { agentSideBugs } from "./agent-side-bugs.ts";
import { besideBugs } from "./beside-bugs.ts";
import { boundBugs } from "./bound-bugs.ts";
import { plainBugs, type Bug } from "./bugs.ts";
import { changedBugs } from "./changed-bugs.ts";
import { checkoutBugs } from "./checkout-bugs.ts";
import { clusterBugs } from "./cluster-bugs.ts";
import { commandLineBugs } from "./command-line-bugs.ts";
import { conflictBugs } from "./conflict-bugs.ts";
import { coreRoomBugs } from "./core-room-bugs.ts";
import { deliveryBugs } from "./delivery-bugs.ts";
import { diskBugs } from "./disk-bugs.ts";
import { edgeBugs } from "./edge-bugs.ts";
import { engineBugs } from "./engine-bugs.ts";
import { engineRoomBugs } from "./engine-room-bugs.ts";
import { featureBugs } from "./feature-bugs.ts";
import { feedBugs } from "./feed-bugs.ts";
import { flowBugs } from "./flow-bugs.ts";
import { folderBugs } from "./folder-bugs.ts";
import { groupBugs } from "./group-bugs.ts";
import { handoverBugs } from "./handover-bugs.ts";
import { houseBugs } from "./house-bugs.ts";
import { houseFleetBugs } from "./house-fleet-bugs.ts";
import { httpBugs } from "./http-bugs.ts";
import { keptBugs } from "./kept-bugs.ts";
import { kindBugs } from "./kind-bugs.ts";
import { laneBugs } from "./lane-bugs.ts";
import { leftRoomBugs } from "./left-room-bugs.ts";
import { linkBugs } from "./link-bugs.ts";
import { liveBugs } from "./live-bugs.ts";
import { lostSyncs } from "./lost-syncs.ts";
import { machineBugs } from "./machine-bugs.ts";
import { machineSideBugs } from "./machine-side-bugs.ts";
import { missedBugs } from "./missed-bugs.ts";
import { momentBugs } from "./moment-bugs.ts";
import { opsBugs } from "./ops-bugs.ts";
import { outboundBugs } from "./outbound-bugs.ts";
import { outerRoomBugs } from "./outer-room-bugs.ts";
import { ownRestartBugs } from "./own-restart-bugs.ts";
import { programBugs } from "./program-bugs.ts";
import { promiseBugs } from "./promise-bugs.ts";
import { rarerBugs } from "./rarer-bugs.ts";
import { readerBugs } from "./reader-bugs.ts";
import { restBugs } from "./rest-bugs.ts";
import { restoreBugs } from "./restore-bugs.ts";
import { roomBugs } from "./room-bugs.ts";
import { roomsBugs } from "./rooms-bugs.ts";
import { runBugs } from "./run-bugs.ts";
import { scopeBugs } from "./scope-bugs.ts";
import { smallRoomBugs } from "./small-room-bugs.ts";
import { stateBugs } from "./state-bugs.ts";
import { stateHandBugs } from "./state-hand-bugs.ts";
import { storeBugs } from "./store-bugs.ts";
import { strangerBugs } from "./stranger-bugs.ts";
import { surfaceBugs } from "./surface-bugs.ts";
import { toldBugs } from "./told-bugs.ts";
import { typeBugs } from "./type-bugs.ts";
import { unmeasuredBugs } from "./unmeasured-bugs.ts";
import { unnoticedBugs } from "./unnoticed-bugs.ts";
import { unseenBugs } from "./unseen-bugs.ts";
import { usedBugs } from "./used-bugs.ts";
import { versionBugs } from "./version-bugs.ts";
import { wordBugs } from "./word-bugs.ts";
import { workBugs } from "./work-bugs.ts";

export type { Bug } from "./bugs.ts";

/** Every bug on purpose. */
export const bugs: readonly Bug[] = [
  ...agentSideBugs,
  ...lostSyncs,
  ...plainBugs,
  ...besideBugs,
  ...boundBugs,
  ...changedBugs,
  ...checkoutBugs,
  ...clusterBugs,
  ...commandLineBugs,
  ...conflictBugs,
  ...coreRoomBugs,
  ...deliveryBugs,
  ...diskBugs,
  ...edgeBugs,
  ...engineBugs,
  ...engineRoomBugs,
  ...featureBugs,
  ...feedBugs,
  ...flowBugs,
  ...folderBugs,
  ...groupBugs,
  ...handoverBugs,
  ...houseBugs,
  ...houseFleetBugs,
  ...httpBugs,
  ...keptBugs,
  ...kindBugs,
  ...laneBugs,
  ...leftRoomBugs,
  ...linkBugs,
  ...liveBugs,
  ...machineBugs,
  ...machineSideBugs,
  ...missedBugs,
  ...momentBugs,
  ...opsBugs,
  ...outboundBugs,
  ...outerRoomBugs,
  ...ownRestartBugs,
  ...programBugs,
  ...promiseBugs,
  ...rarerBugs,
  ...readerBugs,
  ...restBugs,
  ...restoreBugs,
  ...roomBugs,
  ...roomsBugs,
  ...runBugs,
  ...scopeBugs,
  ...smallRoomBugs,
  ...stateBugs,
  ...stateHandBugs,
  ...storeBugs,
  ...strangerBugs,
  ...surfaceBugs,
  ...toldBugs,
  ...typeBugs,
  ...unmeasuredBugs,
  ...unnoticedBugs,
  ...unseenBugs,
  ...usedBugs,
  ...versionBugs,
  ...wordBugs,
  ...workBugs,
];
