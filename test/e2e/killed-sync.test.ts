import { join } from "node:path";
import { expect, it } from "vitest";
import type { FolderStep } from "fleetwright";
import { createClient, type Client } from "fleetwright/client";
import { readSigner } from "fleetwright/client/node";
import { applyPlan } from "../../adapters/sync/apply-plan.ts";
import { planFolder } from "../../adapters/sync/plan-folder.ts";
import { makeFolder, newPublicKey, putFile, wholeFleet } from "../support/fleet-folder.ts";
import { startServerProcess, type ServerProcess } from "../support/processes.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const options = { takeOver: false, prune: true, allowEmpty: false };

function operators(keys: readonly [string, string]): string {
  return `operators:\n  bob: { public_key: ${keys[0]} }\n  eve: { public_key: ${keys[1]} }\n`;
}

it("an apply of a fleet folder whose server is killed over and over is done by the next ones, each thing once", async () => {
  const dataDir = join(temporaryFolder(), "data");
  const keys = [newPublicKey(), newPublicKey()] as const;
  const folder = makeFolder({ ...wholeFleet, "more.yaml": operators(keys) });
  let server: ServerProcess = await startServerProcess(dataDir);
  const { port, origin: url } = new URL(server.url);
  const clientNow = (): Client =>
    createClient({ url, signer: readSigner(join(dataDir, "admin-key")), retry: { attempts: 1 } });

  /** Kills the server each time that one more step is made, until nothing is left to be done. */
  const applyKilled = async (): Promise<{ kills: number; made: string[] }> => {
    const made: string[] = [];
    for (let kills = 0; ; kills += 1) {
      const client = clientNow();
      const plan = await planFolder(client, folder, options);
      expect(plan.faults).toEqual([]);
      let killed: Promise<unknown> | null = null;
      const onDone = ({ action, kind, name }: FolderStep): void => {
        made.push(`${action} ${kind} ${name}`);
        // The next call is on its way then.
        if (made.length > 2 * kills) killed ??= server.program.end("SIGKILL");
      };
      const { failed } = await applyPlan(client, plan, { prune: true, onDone });
      await killed;
      if (killed) server = await startServerProcess(dataDir, Number(port));
      if (!failed) return { kills, made };
    }
  };

  const first = await applyKilled();
  expect(first.kills).toBeGreaterThan(2);
  putFile(folder, "more.yaml", operators([keys[1], keys[0]]));
  putFile(folder, "modules/web.yaml", wholeFleet["modules/web.yaml"].replace("hello", "good day"));
  putFile(folder, "assignments.yaml", "assignments:\n  site: { selector: '*', modules: [web] }\n");
  const second = await applyKilled();
  expect(second.kills).toBeGreaterThan(1);

  const client = clientNow();
  expect(await planFolder(client, folder, options)).toMatchObject({
    steps: [],
    removals: [],
    faults: [],
    unmanaged: [],
  });
  const managed = (items: readonly { managed_by?: unknown }[]): number =>
    items.filter(({ managed_by }) => managed_by !== undefined).length;
  const { assignments, channels, maintenanceWindows, modules, thresholds } = client;
  const lists = [modules, assignments, maintenanceWindows, channels, thresholds, client.operators];
  const counts: number[] = [];
  for (const { list } of lists) counts.push(managed((await list({})).items));
  expect(counts).toEqual([2, 1, 1, 1, 1, 3]);
  // No step was made twice, so that no revision is there for nothing.
  expect((await modules.get("web")).revision).toBe(2);
  expect(await client.audit.verify()).toMatchObject({ valid: true });
  await server.program.end();
});
