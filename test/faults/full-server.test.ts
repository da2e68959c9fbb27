/** A real file system that is really full: a small tmpfs, which only root may mount. */
import { execFileSync } from "node:child_process";
import { appendFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { FileStorage, isOrchestratorError } from "fleetwright";
import { createClient } from "fleetwright/client";
import { createKeyFile, readSigner } from "fleetwright/client/node";
import { startServer, type RunningServer } from "fleetwright/h3";
import { reasonNotToMount } from "../support/mounts.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const sizes = { segmentBytes: 1 << 20, minJournalBytes: 4 << 20 };

const reason = reasonNotToMount();
if (reason !== null) console.info(`The test of a full tmpfs is skipped: ${reason}`);

/** Fills what is left of a file system with one file. */
function fill(path: string): void {
  for (const bytes of [65_536, 4_096, 1]) {
    try {
      for (;;) appendFileSync(path, Buffer.alloc(bytes));
    } catch (error) {
      expect((error as NodeJS.ErrnoException).code).toBe("ENOSPC");
    }
  }
}

async function commitUntilFull(storage: FileStorage): Promise<number> {
  let n = 0;
  for (const chars of [20_000, 0]) {
    try {
      for (; ; n++) {
        const value = { n: n + 1, pad: "x".repeat(chars) };
        await storage.commit([{ kind: "put", collection: "settings", key: "filler", value }]);
      }
    } catch (error) {
      if (!isOrchestratorError(error, "STORAGE_FULL")) throw error;
    }
  }
  return n;
}

test.skipIf(reason !== null)(
  "a server on a full disk reads and signs in, and writes again when there is space",
  async () => {
    const mount = temporaryFolder();
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=8m,mode=700", "tmpfs", mount]);
    let server: RunningServer | null = null;
    try {
      const key = join(temporaryFolder(), "key");
      const { publicKey } = createKeyFile(key);
      const folder = join(mount, "data");
      const start = async (storage: FileStorage): Promise<RunningServer> =>
        (server = await startServer({ storage, adminPublicKeys: [publicKey], listen: { port: 0 } }));
      const storage = new FileStorage({ folder, ...sizes });
      const { url } = await start(storage);
      const client = () => createClient({ url, signer: readSigner(key) });
      const setRetention = (days: number) =>
        client().request("PUT", "/audit/retention", { body: { retention_days: days } });
      await setRetention(11);

      fill(join(mount, "filler"));
      const committed = await commitUntilFull(storage);
      expect(committed).toBeGreaterThan(10);
      await expect(setRetention(12)).rejects.toMatchObject({ status: 503, code: "STORAGE_FULL" });
      const signedIn = client();
      await signedIn.signIn();
      expect(await signedIn.request("GET", "/audit/retention")).toEqual({ retention_days: 11, version: 1 });
      expect((await signedIn.audit.list({ limit: 1 })).items[0]?.event_type).toBe("operator.signedIn");
      expect(await signedIn.status.get()).toMatchObject({ status: "degraded" });
      expect((await fetch(`${url}/readyz`)).status).toBe(200);

      rmSync(join(mount, "filler"));
      expect(await setRetention(13)).toEqual({ retention_days: 13, version: 2 });
      expect(await signedIn.status.get()).toMatchObject({ status: "ok" });

      const sequence = (await storage.readLog("audit")).head.sequence;
      await server!.close();
      const again = new FileStorage({ folder, ...sizes });
      const restarted = await start(again);
      expect((await again.readLog("audit")).head.sequence).toBe(sequence);
      expect((await again.get("settings", "filler"))?.value["n"]).toBe(committed);
      const after = createClient({ url: restarted.url, signer: readSigner(key) });
      expect(await after.audit.verify()).toMatchObject({ valid: true });
      expect(await after.request("GET", "/audit/retention")).toEqual({ retention_days: 13, version: 2 });
    } finally {
      await (server as RunningServer | null)?.close();
      execFileSync("umount", [mount]);
    }
  },
);
