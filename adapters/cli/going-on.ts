/** What goes on without the command that waits for it. */
import type { CommandCall } from "./call.ts";
import { toLines } from "./text.ts";

/** Something that goes on, and its id. */
export interface GoingOn {
  kind: "operation" | "rollout";
  id: string;
}

/** Waits for it; where a signal ends the command meanwhile, says how to follow it and how to end it. */
export async function whileGoingOn<Result>(
  { context }: CommandCall,
  { kind, id }: GoingOn,
  wait: () => Promise<Result>,
): Promise<Result> {
  const command = `fleetwright ${kind}s`;
  const notice = `The ${kind} goes on. Follow it: ${command} watch ${id}; end it: ${command} cancel ${id}`;
  // A terminal has shown ^C in the line that the cursor is in.
  const forget = context.sayWhenEnded?.(toLines(["", notice]));
  try {
    return await wait();
  } finally {
    forget?.();
  }
}
