import { createRequire } from "node:module";
import { fileURLToPath, pathToFileURL } from "node:url";
import { isOrchestratorError, OrchestratorError, systemClock, toHex } from "fleetwright";
import { startServer } from "../../h3/server.ts";
import type { RunningServer } from "../../h3/server.ts";
import { readAdminKeys } from "../admin-keys.ts";
import type { CommandCall } from "../call.ts";
import { readSettings, unknownVariables } from "../settings.ts";
import type { ServerFlags, ServerSettings } from "../settings.ts";
import { quote, toFacts } from "../text.ts";
import { ensureFirstAdmin } from "./first-admin.ts";
import { createLogger } from "./logger.ts";
import { ownCommand } from "./own-command.ts";
import { OwnedStorage, ReadyFile } from "./ready-file.ts";
import { secretsKeyOf } from "./secrets-key.ts";
import { type CertificateSource, GivenCertificate } from "./tls/certificate-source.ts";
import { OwnCertificate } from "./tls/own-certificate.ts";
import { CertificateRenewal } from "./tls/renewal.ts";

/** What `npm run build:agent` made beside this very build. */
const builtAgent = fileURLToPath(
  new URL("dist/agent", pathToFileURL(createRequire(import.meta.url).resolve("fleetwright/package.json"))),
);

/** Runs the server until it is told to stop. */
export async function serve(call: CommandCall, flags: ServerFlags): Promise<void> {
  const { context } = call;
  const settings = readSettings(context, flags);
  const { host, port, dataDir, allowInsecure, trustedProxies, allowedHosts } = settings;
  const { maxHandshakes, maxHandshakesPerAddress, drainSeconds, proxyProtocol } = settings;
  const { metricsPort, metricsToken, agentDir, readyFile } = settings;
  const logger = createLogger(context, settings.logLevel);
  for (const { variable, hint } of unknownVariables(context))
    logger.warn("A variable of the environment has no effect.", { variable, hint });
  const { adminPublicKeys = [], ...options } = settings.orchestrator;
  const ready = readyFile === null ? null : new ReadyFile(readyFile);
  const source = certificateSourceOf(settings);
  const shown = await source?.read();
  const server = await startServer({
    ...options,
    storage: new OwnedStorage(
      { folder: dataDir, clock: systemClock, logger, acceptLoss: flags.acceptLoss === true },
      () => ready?.removeLeft(),
    ),
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
    agentDir: agentDir ?? builtAgent,
    logger,
    listen: { host, port, allowInsecure, ...(shown && { tls: shown }) },
  }).catch(nameThePort);
  const renewal =
    source && shown && new CertificateRenewal({ server, source, shown, clock: systemClock, logger });
  try {
    const adminKey = await ensureFirstAdmin(server.orchestrator, dataDir);
    // Heard from before the first line: whoever reads it may stop the server at once.
    const stopped = context.untilStopped();
    ready?.write();
    announce(call, server, { dataDir, adminKey, authority: source?.authorityFile ?? null });
    await stopped;
  } finally {
    renewal?.stop();
    try {
      await server.close();
    } finally {
      ready?.remove(logger);
    }
  }
}

function certificateSourceOf({ tls, dataDir, host, allowedHosts }: ServerSettings): CertificateSource | null {
  if (tls === null) return null;
  if (tls.kind === "given") return new GivenCertificate(tls);
  return new OwnCertificate({ dataDir, host, names: allowedHosts ?? [], now: systemClock.now });
}

interface Folders {
  dataDir: string;
  adminKey: string | null;
  /** File with the authority that clients have to trust; null where that is nobody of ours. */
  authority: string | null;
}

/** Some lines, and one JSON object with --json. */
function announce(
  call: CommandCall,
  { url, orchestrator }: RunningServer,
  { dataDir, adminKey, authority }: Folders,
): void {
  const publicKey = toHex(orchestrator.publicKey);
  const trust = authority === null ? "" : `NODE_EXTRA_CA_CERTS=${quote(authority)} `;
  const login = `${trust}${ownCommand(call.context.environment)} login --url ${url}${adminKey === null ? "" : ` --key ${quote(adminKey)}`}`;
  const told = { url, data_dir: dataDir, public_key: publicKey, admin_key: adminKey };
  call.show({ ...told, ...(authority !== null && { ca_file: authority }), next: login }, () =>
    toFacts([
      ["URL", url],
      ["Data folder", dataDir],
      ["Orchestrator key", publicKey],
      ["Admin key", adminKey ?? "with the Admins"],
      ...(authority === null ? [] : [["Authority", authority] as [string, string]]),
      ["Next", login],
    ]),
  );
}

/** Says by which setting another port is chosen. */
function nameThePort(error: unknown): never {
  if (!isOrchestratorError(error, "ADDRESS_IN_USE")) throw error;
  const message = `${error.message} Stop what listens there, or choose another port with --port, or --metrics-port.`;
  throw new OrchestratorError("ADDRESS_IN_USE", { message, cause: error });
}
