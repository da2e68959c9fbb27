import { nodeDisk } from "../../lib/storage/file/disk.ts";
import { FileSeries, type FileSeriesOptions } from "../../lib/storage/file/series/file-series.ts";
import { FakeClock } from "../../lib/testing/fake-clock.ts";
import { RecordingLogger } from "./recording-logger.ts";

/** Opens time series in a folder, on a fake clock. */
export async function openSeries(
  options: Partial<FileSeriesOptions> & { folder: string },
): Promise<FileSeries> {
  const series = new FileSeries({
    disk: nodeDisk,
    clock: new FakeClock(),
    logger: new RecordingLogger(),
    rawMs: 86_400_000,
    pointsMs: 30 * 86_400_000,
    check: () => {},
    ...options,
  });
  await series.open();
  return series;
}
