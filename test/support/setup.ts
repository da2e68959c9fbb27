/**
 * The leak guard, active in every test file.
 *
 * After each test, and after each file, nothing may keep the process alive that did not before: no timer, socket, server,
 * child process or watcher; and, on Linux, no file or folder may be open that was not. What is still closing gets two seconds,
 * and a socket or process ten. A rejected promise that nobody handles fails the test it happened in, and so does a file that the garbage
 * collector had to close.
 *
 * A test registers its cleanup in any way that vitest offers - `await using`, `onTestFinished`, `afterEach` for what
 * `beforeEach` made, `afterAll` for what `beforeAll` made: the guard looks after all of them.
 */
import fc from "fast-check";
import { afterAll, beforeAll, beforeEach } from "vitest";
import { liveResources, leakedSince, type ResourceCounts } from "./leaks.ts";
import { unhandled } from "./unhandled.ts";

// One seed, so that a run repeats; the soak takes a new one each time, and a failure prints the one it had.
if (process.env["FLEETWRIGHT_SOAK"] === undefined) fc.configureGlobal({ seed: 20_300_101 });

let beforeFile: ResourceCounts;

beforeAll(() => {
  beforeFile = liveResources();
});

afterAll(() => refuseLeaks("The file", beforeFile));

beforeEach(({ onTestFinished, task }) => {
  // Tests that run side by side see each other's resources; the check after the file still finds what they leave.
  if (task.concurrent) return;
  const before = liveResources();
  // What is registered first runs last, so the test's own cleanup is over by then.
  onTestFinished(() => refuseLeaks("The test", before));
});

async function refuseLeaks(who: string, before: ResourceCounts): Promise<void> {
  const leaked = await leakedSince(before);
  const troubles = unhandled.splice(0);
  if (leaked.length > 0) throw new Error(`${who} left behind: ${leaked.join(", ")}`);
  if (troubles.length > 0)
    throw new AggregateError(troubles, `${who} left what nobody handled: ${String(troubles[0])}`);
}
