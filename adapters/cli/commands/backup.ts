import type { Command } from "commander";
import type { Run } from "../call.ts";

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
    .action(
      run(async (call, file: string, { dataDir }: { dataDir: string }) =>
        (await import("../work/backup.ts")).restore(call, file, dataDir),
      ),
    );
}
