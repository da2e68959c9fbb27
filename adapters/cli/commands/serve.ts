import { Option, type Command } from "commander";
import type { SettingRow } from "fleetwright/options";
import type { Run } from "../call.ts";
import { defaultOf, describeSetting, placesOf, settings } from "../setting-table.ts";
import type { SettingName } from "../setting-table.ts";
import type { ServerFlags } from "../settings.ts";

/** `fleetwright serve` */
export function addServeCommand(program: Command, run: Run): void {
  const command = program
    .command("serve")
    .description("run the server, until it is told to stop; each flag but --accept-loss has a variable, too");
  for (const [name, row] of settings()) command.addOption(toOption(name, row));
  command
    .option("--accept-loss", "start without data that is damaged or missing; told in the audit log")
    .action(run(async (call, flags: ServerFlags) => (await import("../work/serve.ts")).serve(call, flags)));
}

function toOption(name: SettingName, row: SettingRow): Option {
  const { flag, isInFile } = placesOf(name);
  const { choices } = row.rule;
  const standsAlone = row.default === false;
  // commander tells the choices itself.
  const text = standsAlone || choices !== undefined ? describeSetting(row, "") : describeSetting(row);
  const standard = standsAlone ? "" : `; default ${defaultOf(row)}`;
  const description = `${isInFile ? "file with the " : ""}${text}${standard}`.replaceAll("`", "");
  if (standsAlone) return new Option(flag, description);
  const option = new Option(`${flag} <${isInFile ? "file" : placeholderOf(name)}>`, description);
  return choices === undefined ? option : option.choices(choices);
}

/** What stands behind a flag in the help. */
const placeholders: Partial<Record<SettingName, string>> = {
  host: "address",
  dataDir: "folder",
  tls: "kind",
  agentUrl: "url",
  channelNetworks: "networks",
  agentDir: "folder",
  readyFile: "file",
  adminPublicKeys: "keys",
  trustedProxies: "networks",
  allowedHosts: "names",
  logLevel: "level",
  secretsKeyCommand: "command",
  serviceName: "text",
};

function placeholderOf(name: SettingName): string {
  const unit = /(?:Seconds|Days)$/.exec(name)?.[0].toLowerCase();
  return placeholders[name] ?? unit ?? "number";
}
