import type { Command } from "commander";
import { yesOption } from "../ask.ts";
import type { Run } from "../call.ts";
import type { SyncExportOptions, SyncOptions } from "../work/sync.ts";

/** `fleetwright sync ...`; the library is loaded by the command that needs it. */
export function addSyncCommands(program: Command, run: Run): void {
  const sync = program.command("sync").description("a fleet as a folder of files");
  sync
    .command("check <folder>")
    .description("find every fault of the files, without a server")
    .action(run(async (call, folder: string) => (await import("../work/sync.ts")).checkSync(call, folder)));
  withScope(sync.command("plan <folder>"))
    .description("show what differs between a folder and the server; 3 where something does")
    .action(
      run(async (call, folder: string, options: SyncOptions) =>
        (await import("../work/sync.ts")).planSync(call, folder, options),
      ),
    );
  withScope(sync.command("apply <folder>"))
    .description("make the server as a folder says")
    .option(...yesOption)
    .action(
      run(async (call, folder: string, options: SyncOptions) =>
        (await import("../work/sync.ts")).applySync(call, folder, options),
      ),
    );
  sync
    .command("export <folder>")
    .description("write what the server has into a new folder, without what is secret")
    .requiredOption("--label <label>", "label of the folder; what other folders manage is left out")
    .option("--whole", "for a server that has nothing yet: what other folders manage, too")
    .option("--overwrite", "write into a folder that is not empty")
    .option("--sensitive", "modules and assignments that may hold secrets as they are, too")
    .action(
      run(async (call, folder: string, options: SyncExportOptions) =>
        (await import("../work/sync.ts")).exportSync(call, folder, options),
      ),
    );
}

function withScope(command: Command): Command {
  return command
    .option("--prune", "remove what the folder managed and does not have any more")
    .option("--allow-empty", "with --prune: remove everything, where the folder has nothing any more")
    .option("--take-over", "have this folder manage what nobody or another folder does");
}
