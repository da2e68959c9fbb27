/** What goes on without the command that waits for it. */
import { ApiError } from "../client/api-error.ts";
import type { CommandCall } from "./call.ts";
import { toLines } from "./text.ts";

/** Something that goes on, and its id. */
export interface GoingOn {
  kind: "operation" | "rollout";
  id: string;
}

/** Waits for it; where a signal or a failure ends the command meanwhile, says how to follow it and how to end it. */
export async function whileGoingOn<Result>(
  call: CommandCall,
  going: GoingOn,
  wait: () => Promise<Result>,
): Promise<Result> {
  // A terminal has shown ^C in the line that the cursor is in.
  const notice = `The ${going.kind} goes on. ${howToGoOn(going)}`;
  const forget = call.context.sayWhenEnded?.(toLines(["", notice]));
  try {
    return await wait();
  } catch (error) {
    tellLost(call, going, error);
    throw error;
  } finally {
    forget?.();
  }
}

/** Says where its end can be seen when a failure ended the waiting for it: who is not told its id can't find it again. */
export function tellLost(call: CommandCall, going: GoingOn, error: unknown): void {
  if (error instanceof ApiError && error.status === 404) return;
  const { kind, id } = going;
  call.tellGoingOn(`The end of the ${kind} was not seen. ${howToGoOn(going)}`, { [`${kind}_id`]: id });
}

function howToGoOn({ kind, id }: GoingOn): string {
  const command = `fleetwright ${kind}s`;
  return `Follow it: ${command} watch ${id}; end it: ${command} cancel ${id}`;
}
