/** Real processes whose wall clocks are set while they run: libfaketime moves `clock_gettime` and leaves the monotonic clock alone. */
import { join } from "node:path";
import { expect, it } from "vitest";
import { startFleetMember, startServerProcess } from "../support/processes.ts";
import { SetClock } from "../support/set-clock.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const module = "name: motd\nresources:\n  - { type: file, path: /motd, content: hi }\n";

const day = 86_400;
const offsets = [-600, 600, -3 * day, 3 * day, -3 * 365 * day, 3 * 365 * day];

it.each(["server", "agent"] as const)(
  "the fleet is there whatever the wall clock of the %s is set to while it runs",
  async (side) => {
    const folder = temporaryFolder();
    const clock = new SetClock(join(folder, "clock"));
    const dataDir = join(folder, "data");
    const ofServer = side === "server" ? clock.environment : {};
    const ofAgent = side === "agent" ? clock.environment : {};
    await using server = await startServerProcess(dataDir, 0, ofServer);
    await using agent = await startFleetMember(join(folder, "web-1"), server, ofAgent);
    await server.client.modules.upload({ content: module });
    const statuses: string[] = [];
    for (const offset of offsets) {
      clock.set(offset);
      const { timestamp } = (await server.client.audit.list({ limit: 1 })).items[0]!;
      expect(typeof timestamp).toBe("string");
      statuses.push((await server.client.state.plan(agent.nodeId, { modules: ["motd"] })).status);
      statuses.push((await server.client.state.apply(agent.nodeId, { modules: ["motd"] })).status);
    }
    expect(statuses).toEqual(Array(2 * offsets.length).fill("succeeded"));
    if (side === "server") {
      // That the clock was moved at all: the newest event says so.
      const { timestamp } = (await server.client.audit.list({ limit: 1 })).items[0]!;
      expect(Date.parse(timestamp) - Date.now()).toBeGreaterThan(2 * 365 * day * 1000);
    }
  },
);
