import type { Command } from "commander";
import type { AuditEvent } from "fleetwright";
import type { Run } from "../call.ts";
import { exitCode } from "../context.ts";
import { limitOption } from "../options.ts";
import { toLines } from "../text.ts";
import type { Column } from "../text.ts";
import type { ExportOptions, PruneOptions } from "../work/audit-log.ts";

interface ListOptions {
  type?: string;
  actor?: string;
  target?: string;
  from?: string;
  to?: string;
  search?: string;
  limit?: number;
}

/** `fleetwright audit ...` */
export function addAuditCommands(program: Command, run: Run): void {
  const audit = program.command("audit").description("what was done, by whom and when");
  audit
    .command("list")
    .description("list audit events, newest first")
    .option("--type <event>", "only events of this type")
    .option("--actor <name>", "only what one operator or agent did")
    .option("--target <name>", "only what was done to one thing")
    .option("--from <time>", "only at or after this time")
    .option("--to <time>", "only before this time")
    .option("--search <text>", "only with this in the summary")
    .option(...limitOption)
    .action(
      run((call, { type, ...filter }: ListOptions) =>
        call.showList(
          call.client.audit.list,
          { ...filter, ...(type !== undefined && { event_type: type }) },
          columns,
        ),
      ),
    );
  audit
    .command("verify [file...]")
    .description("check that nobody has changed the log, or exported files that follow each other")
    .action(
      run(async (call, files: string[]) => {
        if (files.length > 0) return (await import("../work/audit-log.ts")).verifyFiles(call, files);
        const result = await call.client.audit.verify();
        const range = `events ${result.from_sequence} to ${result.to_sequence}`;
        call.show(result, () =>
          toLines([
            result.valid
              ? `The log is whole: ${range}, head ${result.head_hash}.`
              : `The log was changed: event ${result.first_bad_sequence} is the first that does not fit (${range}).`,
          ]),
        );
        return result.valid ? exitCode.ok : exitCode.failure;
      }),
    );
  audit
    .command("export")
    .description("write the events before a time, oldest first, as lines of JSON that can be verified")
    .requiredOption(...beforeOption)
    .option("--output <file>", "a new file; default standard output")
    .action(
      run(async (call, options: ExportOptions) =>
        (await import("../work/audit-log.ts")).exportOldest(call, options),
      ),
    );
  audit
    .command("prune")
    .description("remove the events before a time for good; shows how many and asks")
    .requiredOption(...beforeOption)
    .option("--export <file>", "write them into a new file first, as export does")
    .option("--yes", "do not ask")
    .action(
      run(async (call, options: PruneOptions) => (await import("../work/audit-log.ts")).prune(call, options)),
    );
}

const beforeOption = [
  "--before <time>",
  "with its zone, e.g. 2026-01-31T12:00:00Z; not in the future",
] as const;

const columns: readonly Column<AuditEvent>[] = [
  ["SEQUENCE", ({ sequence }) => sequence],
  ["TIME", ({ timestamp }) => timestamp],
  ["EVENT", ({ event_type }) => event_type],
  ["ACTOR", ({ actor }) => actor.name],
  ["SUMMARY", ({ summary }) => summary],
];
