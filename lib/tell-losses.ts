import { systemCaller } from "./callers/caller.ts";
import type { Context } from "./context.ts";
import { startOf } from "./internal/canonical-json.ts";

/** What the storage was told to go on without stands in the audit log before anything else of this start. */
export async function tellLosses(context: Context): Promise<void> {
  const losses = context.storage.losses?.list() ?? [];
  if (losses.length === 0) return;
  await context.commitWithReserve(systemCaller, [], {
    type: "storage.lossAccepted",
    summary: startOf(
      `The server was started without stored data that is lost: ${losses.map(({ what }) => what).join("; ")}`,
      500,
    ),
    metadata: { losses: losses.slice(0, 100).map((loss) => ({ ...loss })) },
  });
  await context.storage.losses?.told();
}
