import type { Command } from "commander";
import type { Run } from "../call.ts";
import { integer } from "../options.ts";
import type { RestoreOptions } from "../work/backup.ts";

/** `fleetwright backup`, `fleetwright backup verify` and `fleetwright restore` */
export function addBackupCommands(program: Command, run: Run): void {
  const backup = program
    .command("backup <file>")
    .description("download everything that the server keeps, its keys included")
    .action(run(async (call, file: string) => (await import("../work/backup.ts")).download(call, file)));
  backup
    .command("verify <file>")
    .description("check every checksum of a backup, and the chain of the audit log in it")
    .action(run(async (call, file: string) => (await import("../work/backup.ts")).verify(call, file)));
  program
    .command("restore <file>")
    .description("make a data folder out of a backup")
    .requiredOption("--data-dir <folder>", "where to: a new folder, or an empty one")
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
