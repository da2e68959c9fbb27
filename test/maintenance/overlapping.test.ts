/** Windows whose occurrences last longer than it takes until the next, or just as long: they are active without a break. */
import { describe, expect, it } from "vitest";
import { cronerCron, systemCaller } from "fleetwright";
import { createTestOrchestrator, FakeClock } from "fleetwright/testing";
import { occurrenceAt, occurrencesFrom, type Timing } from "../../lib/maintenance/occurrences.ts";
import { MemoryData, MemoryStorage } from "../../lib/storage/memory-storage.ts";
import { settleAll } from "../support/deferred.ts";
import { createScene } from "../support/rollout-scene.ts";

const ms = (text: string): number => Date.parse(`2030-01-${text}Z`);
const short = (instant: number): string => new Date(instant).toISOString().slice(8, 16);
const recurring = (cron: string, minutes: number, more: Partial<Timing> = {}): Timing => ({
  starts_at: "2030-01-01T00:00:00Z",
  schedule: { cron, time_zone: "UTC", duration_minutes: minutes },
  ...more,
});
const seen = (timing: Timing, at: string, most = 2): string[] =>
  occurrencesFrom(cronerCron, timing, { atMs: ms(at), most }).map(
    ({ from, to }) => `${short(from)} ${short(to)}`,
  );

describe("occurrences are one", () => {
  it.each<[string, Timing, string[]]>([
    ["that overlap", recurring("0 8-10 * * *", 90), ["02T08:00 02T11:30", "03T08:00 03T11:30"]],
    ["that touch", recurring("0 8-10 * * *", 60), ["02T08:00 02T11:00", "03T08:00 03T11:00"]],
    [
      "of which one is longer than the time to the one after the next",
      recurring("0 8-10 * * *", 200),
      ["02T08:00 02T13:20", "03T08:00 03T13:20"],
    ],
    [
      "up to the end of the window",
      recurring("0 8-10 * * *", 90, { ends_at: "2030-01-02T09:45:00Z" }),
      ["02T08:00 02T09:45"],
    ],
    [
      "from the beginning of the window",
      recurring("0 8-10 * * *", 90, { starts_at: "2030-01-02T08:30:00Z" }),
      ["02T09:00 02T11:30", "03T08:00 03T11:30"],
    ],
    [
      "but those that had begun when one was ended",
      recurring("0 8-10 * * *", 90, { occurrence_ended_at: "2030-01-02T08:10:00.000Z" }),
      ["02T09:00 02T11:30", "03T08:00 03T11:30"],
    ],
  ])("%s", (_, timing, expected) => {
    expect(seen(timing, "02T09:15:00")).toEqual(expected);
    expect(seen(timing, "02T07:15:00")).toEqual(expected);
  });

  it("but not where a minute is between them", () => {
    expect(seen(recurring("0 8-10 * * *", 59), "02T08:30:00")).toEqual([
      "02T08:00 02T08:59",
      "02T09:00 02T09:59",
    ]);
  });

  it("where there is no gap at all, as far as is looked, and for ever when that is over", () => {
    const always = recurring("* * * * *", 1);
    const [first, ...more] = occurrencesFrom(cronerCron, always, { atMs: ms("20T00:00:00"), most: 5 });
    expect([short(first!.from), short(first!.to), more]).toEqual(["01T00:00", "20T05:01", []]);
    expect(occurrenceAt(cronerCron, always, first!.to)).toMatchObject({ from: first!.from });
  });
});

const start = 1_893_456_000_000;
const minuteMs = 60_000;
const schedule = { cron: "0 0-2 * * *", time_zone: "UTC", duration_minutes: 90 };
const freeze = { reason: "disks", mode: "freeze", schedule } as const;

describe("a freeze whose occurrences overlap", () => {
  it("names the end at which work is taken on again", async () => {
    await using scene = await createScene(1);
    const { maintenanceWindows, operations } = scene.test.orchestrator;
    await maintenanceWindows.create(systemCaller, freeze);
    await scene.clock.advance(70 * minuteMs);
    const apply = () => operations.apply(systemCaller, { node_id: scene.agents[0]!.nodeId, wait_seconds: 0 });
    const until = new Date(start + 210 * minuteMs).toISOString();
    await expect(apply()).rejects.toMatchObject({ code: "MAINTENANCE_WINDOW", details: { until } });
    await scene.clock.advance(Date.parse(until) - scene.clock.now());
    expect((await apply()).status).toBe("queued");
  });

  it("is told to begin and to end once, over a restart as well", async () => {
    const [clock, data] = [new FakeClock(), new MemoryData()];
    const open = () => createTestOrchestrator({ clock, storage: new MemoryStorage({ clock, data }) });
    const pass = async (minutes: number): Promise<void> => {
      for (let left = minutes; left > 0; left -= 5) {
        await clock.advance(5 * minuteMs);
        await settleAll();
      }
    };
    const told = (of: Awaited<ReturnType<typeof open>>): string[] =>
      of.events.flatMap((event) =>
        event.event_type === "maintenance.started" || event.event_type === "maintenance.ended"
          ? `${event.event_type} ${short(Date.parse(event.metadata.starts_at))} ${short(Date.parse(event.metadata.ends_at!))}`
          : [],
      );
    {
      await using test = await open();
      await test.orchestrator.maintenanceWindows.create(systemCaller, freeze);
      await pass(100);
      expect(told(test)).toEqual(["maintenance.started 01T00:00 01T03:30"]);
    }
    await using test = await open();
    await pass(100);
    expect(told(test)).toEqual([]);
    await pass(15);
    expect(told(test)).toEqual(["maintenance.ended 01T00:00 01T03:30"]);
  });
});
