/**
 * Tells that the storage is full, once for each time that it is.
 *
 *   has space ──a change is refused for want of it──▶ told ──a check finds space──▶ has space
 */
import { systemCaller } from "../callers/caller.ts";
import type { Context } from "../context.ts";
import { isOrchestratorError } from "../errors.ts";
import { nextTurn } from "../internal/next-turn.ts";
import { BackgroundWork } from "./background-work.ts";

/** How often it is looked whether there is space again, milliseconds. */
const lookMs = 60_000;

/** Begins to tell. The function returned ends it. */
export function tellFull(context: Context): () => Promise<void> {
  const work = new BackgroundWork(context);
  let isTold = false;
  const look = async (): Promise<void> => {
    try {
      await context.storage.check();
      isTold = false;
    } catch {
      work.after(lookMs, look);
    }
  };
  const tell = async (): Promise<void> => {
    // What was refused is counted as missing first, and told before this.
    await nextTurn();
    await context.tell("storage.full", () =>
      context.commitWithReserve(systemCaller, [], {
        type: "storage.full",
        summary: "The storage is full: changes are refused until there is space",
      }),
    );
  };
  const unlisten = context.onRefusal((error) => {
    if (isTold || !isOrchestratorError(error, "STORAGE_FULL")) return;
    isTold = true;
    work.do(tell);
    work.after(lookMs, look);
  });
  return async () => {
    unlisten();
    await work.stop();
  };
}
