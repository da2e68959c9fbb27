import { expect, onTestFinished, test } from "vitest";
import { FileStorage, systemCaller } from "fleetwright";
import { startServer } from "fleetwright/h3";
import { LimitedDisk } from "../../support/limited-disk.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

test("once the disk has failed, /readyz and the status say so with one reason, and reads go on", async () => {
  const disk = new LimitedDisk();
  const storage = new FileStorage({ folder: temporaryFolder(), disk });
  const server = await startServer({ storage, listen: { port: 0 } });
  onTestFinished(() => server.close());
  const { orchestrator, url } = server;
  expect((await fetch(`${url}/readyz`)).status).toBe(200);

  disk.broken = true;
  const change = (days: number) => orchestrator.audit.setRetention(systemCaller, { retention_days: days });
  await expect(change(5)).rejects.toMatchObject({ code: "STORAGE_FAILED" });
  disk.broken = false;

  const answer = await fetch(`${url}/readyz`);
  expect(answer.status).toBe(503);
  expect(await answer.json()).toMatchObject({
    code: "STORAGE_FAILED",
    detail:
      "The disk of the data folder reported an error (EIO): nothing is written any more until the process is started again.",
  });
  expect(await (await fetch(`${url}/api/v1/status`)).json()).toMatchObject({ status: "degraded" });
  expect((await fetch(`${url}/livez`)).status).toBe(200);
  expect(await orchestrator.audit.getRetention(systemCaller)).toEqual({ retention_days: 90 });
});
