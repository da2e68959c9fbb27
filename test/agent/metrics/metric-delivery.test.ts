import { join } from "node:path";
import { expect, test } from "vitest";
import { MetricDelivery } from "../../../lib/agent/metrics/metric-delivery.ts";
import { SampleBacklog } from "../../../lib/agent/metrics/sample-backlog.ts";
import { FakeClock } from "../../../lib/testing/fake-clock.ts";
import type { AgentMessage } from "../../../lib/wire/messages.ts";
import { RecordingLogger } from "../../support/recording-logger.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

test("a gap that could not be told is told with the next connection, once", () => {
  const backlog = new SampleBacklog(join(temporaryFolder(), "metrics"), new RecordingLogger());
  const gaps: boolean[] = [];
  let isUp = false;
  const send = (message: AgentMessage): boolean => {
    if (isUp && message.type === "metrics") gaps.push(message.gap);
    return isUp;
  };
  const delivery = new MetricDelivery({ backlog, clock: new FakeClock(), send });
  for (const at of [1_000, 2_000, 9_000]) backlog.add({ at, values: { "load.1": 1 } });
  backlog.dropAfter(5_000);
  delivery.begin();
  expect(gaps).toEqual([]);
  isUp = true;
  delivery.begin();
  delivery.acknowledge(2_000);
  backlog.add({ at: 3_000, values: { "load.1": 1 } });
  delivery.taken({ at: 3_000, values: { "load.1": 1 } });
  expect(gaps).toEqual([true, false]);
  delivery.pause();
});
