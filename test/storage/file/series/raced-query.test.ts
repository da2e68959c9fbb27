/** A query of samples beside the write that puts the newest of them on disk. */
import { expect, test } from "vitest";
import { FakeClock } from "../../../../lib/testing/fake-clock.ts";
import { deferred } from "../../../support/deferred.ts";
import { openSeries } from "../../../support/file-series.ts";
import { LimitedDisk } from "../../../support/limited-disk.ts";
import { temporaryFolder } from "../../../support/temporary-folder.ts";
import { waitFor } from "../../../support/wait-for.ts";

const writeEveryMs = 10 * 60_000;
const samples = (from: number) =>
  [from, from + 1, from + 2].map((second) => ({ at: second * 1_000, values: { cpu: second } }));

test.each(["while it reads", "before it reads", "after it has read"])(
  "a query misses nothing that goes to disk %s, and has nothing twice",
  async (moment) => {
    const disk = new LimitedDisk();
    const clock = new FakeClock();
    const series = await openSeries({ folder: temporaryFolder(), disk, clock });
    await series.append("a", samples(1));
    await clock.advance(writeEveryMs);
    await series.upkeep();
    await series.append("a", samples(4));
    const release = disk.hold(/\.chunks$/);
    await clock.advance(writeEveryMs);
    const writing = series.upkeep();
    await waitFor(() => expect(disk.held).toBe(1));
    if (moment === "before it reads") await (release(), writing);
    const reads = deferred();
    disk.readsAwait = reads.promise;
    const reading = series.query("a", { from: 0, to: 1e15 });
    if (moment === "while it reads") await (release(), writing);
    reads.resolve();
    const { cpu = [] } = await reading;
    release();
    await writing;
    expect(cpu.map(({ mean }) => mean)).toEqual([1, 2, 3, 4, 5, 6]);
    await series.close();
  },
);
