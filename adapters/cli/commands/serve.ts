import { FileStorage, systemClock, toHex } from "fleetwright";
import type { Command } from "commander";
import type { CommandCall, Run } from "../call.ts";
import { ensureFirstAdmin, readAdminKeys } from "../first-admin.ts";
import { createLogger, logLevelOption } from "../logger.ts";
import { readSettings } from "../settings.ts";
import type { ServerFlags } from "../settings.ts";
import { startServer } from "../../h3/server.ts";
import type { RunningServer } from "../../h3/server.ts";
import { toFacts } from "../text.ts";

/** `fleetwright serve` */
export function addServeCommand(program: Command, run: Run): void {
  program
    .command("serve")
    .description("run the server, until it is told to stop")
    .option("--host <address>", "where to listen; default 127.0.0.1")
    .option("--port <number>", "port; 0 takes a free one; default 4748")
    .option("--data-dir <folder>", "where everything is kept; default ./.fleetwright")
    .option("--admin-public-keys <keys>", "public keys to make Admin, with commas")
    .option("--tls-cert-file <file>", "certificate, PEM")
    .option("--tls-key-file <file>", "its private key, PEM")
    .option("--trusted-proxies <networks>", "proxies whose X-Forwarded-For is believed, with commas")
    .option("--operation-retention-days <days>", "how long operations and drift records are kept; default 90")
    .option("--pending-agents <number>", "agents that may wait to be approved; default 1000")
    .option("--pending-agent-retention-days <days>", "forgets those that do not come for so long; default 7")
    .option("--allowed-hosts <names>", "host names of the service, with commas; others are refused")
    .option("--allow-insecure", "listen without TLS where others can listen, too")
    .addOption(logLevelOption())
    .action(run(serve));
}

async function serve(call: CommandCall, flags: ServerFlags): Promise<void> {
  const { context } = call;
  const { host, port, dataDir, tls, ...settings } = readSettings(context, flags);
  const logger = createLogger(context, settings.logLevel);
  const server = await startServer({
    storage: new FileStorage({ folder: dataDir, clock: systemClock, logger }),
    adminPublicKeys: [...settings.adminPublicKeys, ...readAdminKeys(dataDir)],
    trustedProxies: settings.trustedProxies,
    operationRetentionDays: settings.operationRetentionDays,
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
  const login = `npx fleetwright login --url ${url}${adminKey === null ? "" : ` --key ${quote(adminKey)}`}`;
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

/** A path as a shell takes it. */
function quote(path: string): string {
  return /^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", `'\\''`)}'`;
}
