import type { AppliedSet } from "./applied-set.ts";
import type { OperationJournal } from "./operation-journal.ts";

/**
 * Puts in order what operations left that were cut off when the agent last ended. What they may have changed is kept before
 * they are told to have ended: a crash in between makes it all happen again.
 */
export function recoverCutOff(journal: OperationJournal, applied: AppliedSet): void {
  for (const { operation_id, captured } of journal.cutOff()) {
    if (captured.length > 0) applied.adopt(captured);
    journal.interrupt(operation_id);
  }
}
