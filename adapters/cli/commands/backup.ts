import { Option, type Command } from "commander";
import type { Run } from "../call.ts";
import { integer } from "../options.ts";
import type { OriginOptions } from "../work/backup-origin.ts";
import type { RestoreOptions } from "../work/backup.ts";

/** `fleetwright backup`, `fleetwright backup verify` and `fleetwright restore` */
export function addBackupCommands(program: Command, run: Run): void {
  const backup = program
    .command("backup <file>")
    .description("download everything that the server keeps, its keys included")
    .action(run(async (call, file: string) => (await import("../work/backup.ts")).download(call, file)));
  backup
    .command("verify <file>")
    .description("check every checksum of a backup, the chain of the audit log in it, and the signature")
    .addOption(keyOption())
    .addOption(unsignedOption())
    .action(
      run(async (call, file: string, options: OriginOptions) =>
        (await import("../work/backup.ts")).verify(call, file, options),
      ),
    );
  program
    .command("restore <file>")
    .description("make a data folder out of a backup")
    .requiredOption("--data-dir <folder>", "where to: a new folder, or an empty one")
    .addOption(keyOption())
    .addOption(unsignedOption())
    .option(
      "--epoch-after <number>",
      "begin above this epoch, where agents refuse the server",
      integer(0, 8_000_000_000_000_000),
    )
    .action(
      run(async (call, file: string, options: RestoreOptions) =>
        (await import("../work/backup.ts")).restore(call, file, options),
      ),
    );
}

function keyOption(): Option {
  return new Option(
    "--orchestrator-key <key>",
    "the key that must have signed it, hex or base64; default the pinned one of the server",
  );
}

function unsignedOption(): Option {
  return new Option("--unsigned", "take one without a signature, of an older version").conflicts(
    "orchestratorKey",
  );
}
