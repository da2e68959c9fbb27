import { FileStorage, systemClock, toHex } from "fleetwright";
import { startServer } from "../../h3/server.ts";
import type { RunningServer } from "../../h3/server.ts";
import type { CommandCall } from "../call.ts";
import { readAdminKeys } from "../admin-keys.ts";
import { readSettings } from "../settings.ts";
import type { ServerFlags } from "../settings.ts";
import { quote, toFacts } from "../text.ts";
import { ensureFirstAdmin } from "./first-admin.ts";
import { createLogger } from "./logger.ts";

/** Runs the server until it is told to stop. */
export async function serve(call: CommandCall, flags: ServerFlags): Promise<void> {
  const { context } = call;
  const { host, port, dataDir, tls, ...settings } = readSettings(context, flags);
  const logger = createLogger(context, settings.logLevel);
  const server = await startServer({
    storage: new FileStorage({
      folder: dataDir,
      clock: systemClock,
      logger,
      acceptLoss: flags.acceptLoss === true,
    }),
    adminPublicKeys: [...settings.adminPublicKeys, ...readAdminKeys(dataDir)],
    trustedProxies: settings.trustedProxies,
    operationRetentionDays: settings.operationRetentionDays,
    operationRetentionCount: settings.operationRetentionCount,
    auditMinimumAgeDays: settings.auditMinimumAgeDays,
    pendingAgents: settings.pendingAgents,
    pendingAgentRetentionDays: settings.pendingAgentRetentionDays,
    signInsPerMinute: settings.signInsPerMinute,
    callsPerMinute: settings.callsPerMinute,
    ...(settings.allowedHosts && { allowedHosts: settings.allowedHosts }),
    driftIntervalSeconds: settings.driftIntervalSeconds,
    driftConcurrency: settings.driftConcurrency,
    rolloutConcurrency: settings.rolloutConcurrency,
    logger,
    listen: { host, port, allowInsecure: settings.allowInsecure, ...(tls && { tls }) },
  });
  try {
    const adminKey = await ensureFirstAdmin(server.orchestrator, dataDir);
    // Heard from before the first line: whoever reads it may stop the server at once.
    const stopped = context.untilStopped();
    announce(call, server, { dataDir, adminKey });
    await stopped;
  } finally {
    await server.close();
  }
}

interface Folders {
  dataDir: string;
  adminKey: string | null;
}

/** Five lines, and one JSON object with --json. */
function announce(
  call: CommandCall,
  { url, orchestrator }: RunningServer,
  { dataDir, adminKey }: Folders,
): void {
  const publicKey = toHex(orchestrator.publicKey);
  // Installed or in the checkout; where it is neither, nobody else's package of that name is fetched.
  const login = `npx --no-install fleetwright login --url ${url}${adminKey === null ? "" : ` --key ${quote(adminKey)}`}`;
  call.show({ url, data_dir: dataDir, public_key: publicKey, admin_key: adminKey, next: login }, () =>
    toFacts([
      ["URL", url],
      ["Data folder", dataDir],
      ["Orchestrator key", publicKey],
      ["Admin key", adminKey ?? "with the Admins"],
      ["Next", login],
    ]),
  );
}
