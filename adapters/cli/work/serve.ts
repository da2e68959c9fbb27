import { FileStorage, systemClock, toHex } from "fleetwright";
import { startServer } from "../../h3/server.ts";
import type { RunningServer } from "../../h3/server.ts";
import { readAdminKeys } from "../admin-keys.ts";
import type { CommandCall } from "../call.ts";
import { readSettings, unknownVariables } from "../settings.ts";
import type { ServerFlags } from "../settings.ts";
import { quote, toFacts } from "../text.ts";
import { ensureFirstAdmin } from "./first-admin.ts";
import { createLogger } from "./logger.ts";
import { secretsKeyOf } from "./secrets-key.ts";

/** Runs the server until it is told to stop. */
export async function serve(call: CommandCall, flags: ServerFlags): Promise<void> {
  const { context } = call;
  const settings = readSettings(context, flags);
  const { host, port, dataDir, tls, allowInsecure, trustedProxies, allowedHosts } = settings;
  const { maxHandshakes, maxHandshakesPerAddress, drainSeconds, proxyProtocol } = settings;
  const { metricsPort, metricsToken } = settings;
  const logger = createLogger(context, settings.logLevel);
  for (const { variable, hint } of unknownVariables(context))
    logger.warn("A variable of the environment has no effect.", { variable, hint });
  const { adminPublicKeys = [], ...options } = settings.orchestrator;
  const server = await startServer({
    ...options,
    storage: new FileStorage({
      folder: dataDir,
      clock: systemClock,
      logger,
      acceptLoss: flags.acceptLoss === true,
    }),
    secretsKey: secretsKeyOf(settings, dataDir),
    adminPublicKeys: [...adminPublicKeys, ...readAdminKeys(dataDir)],
    trustedProxies,
    proxyProtocol,
    ...(allowedHosts && { allowedHosts }),
    maxHandshakes,
    maxHandshakesPerAddress,
    drainSeconds,
    metricsPort,
    ...(metricsToken !== null && { metricsToken }),
    logger,
    listen: { host, port, allowInsecure, ...(tls && { tls }) },
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
