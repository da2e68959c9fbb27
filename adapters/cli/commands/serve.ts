import type { Command } from "commander";
import type { Run } from "../call.ts";
import { logLevelOption } from "../log-level.ts";
import type { ServerFlags } from "../settings.ts";

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
    .option("--operation-retention-count <number>", "how many operations are kept; default 100000")
    .option("--audit-minimum-age-days <days>", "audit events that are younger can't be pruned; default 0")
    .option("--pending-agents <number>", "agents that may wait to be approved; default 1000")
    .option("--pending-agent-retention-days <days>", "forgets those that do not come for so long; default 7")
    .option("--allowed-hosts <names>", "host names of the service, with commas; others are refused")
    .option("--allow-insecure", "listen without TLS where others can listen, too")
    .option("--accept-loss", "start without data that is damaged or missing; told in the audit log")
    .addOption(logLevelOption())
    .action(run(async (call, flags: ServerFlags) => (await import("../work/serve.ts")).serve(call, flags)));
}
