/** How long somebody may still attach to a terminal that has ended, whatever becomes of the clock. */
import { expect, test } from "vitest";
import { isShown } from "../../lib/terminals/terminal-ends.ts";

const closed_at = "2030-01-01T00:00:00.000Z";
const endedMs = Date.parse(closed_at);

test.each<[reason: string, isIt: boolean]>([
  ["exit", true],
  ["idle", true],
  ["detached", true],
  ["too_long", true],
  ["agent_lost", true],
  ["operator_changed", true],
  ["closed", false],
  ["server_lost", false],
])("a terminal that ended with %s is shown for a minute more: %j", (close_reason, isIt) => {
  const ended = { status: "closed", closed_at, close_reason } as const;
  const shown = [-60_000, -59_999, 0, 59_999, 60_000].map((ms) => isShown(ended, endedMs + ms));
  // A clock that was set back since counts as one that went on.
  expect(shown).toEqual([false, isIt, isIt, isIt, false]);
});

test("a terminal that is open is shown at any time", () => {
  for (const ms of [0, 60_000, 86_400_000]) expect(isShown({ status: "active" }, endedMs + ms)).toBe(true);
});
