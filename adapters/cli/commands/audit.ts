import { Option, type Command } from "commander";
import type { AuditEvent } from "fleetwright";
import type { Input } from "../../client/inputs.ts";
import { sureOption, type SureOptions } from "../ask.ts";
import type { Run } from "../call.ts";
import { UsageError } from "../failure.ts";
import { integer, limitOption } from "../options.ts";
import { countOf } from "../show-results.ts";
import { timeColumn, toLines, type Column } from "../text.ts";
import type { VerifyOptions } from "../work/audit-head.ts";
import type { ExportOptions, PruneOptions } from "../work/audit-log.ts";

/** As they were typed: whether there is such a category is for the server to say. */
interface ListOptions extends Omit<Input<"listAuditInput">, "event_type" | "cursor" | "from_sequence"> {
  type?: string;
}

interface RetentionOptions extends SureOptions {
  days?: number;
  forever?: true;
}

/** `fleetwright audit ...` */
export function addAuditCommands(program: Command, run: Run): void {
  const audit = program.command("audit").description("what was done, by whom and when");
  addList(audit, run);
  addVerify(audit, run);
  audit
    .command("export")
    .description("write events, oldest first, as lines of JSON that can be verified")
    .option("--before <time>", "only those before a time, with its zone; default all")
    .option("--file <file>", "a new file; default standard output")
    .option("--after <file>", "an earlier export: only the events behind its last")
    .action(
      run(async (call, options: ExportOptions) =>
        (await import("../work/audit-log.ts")).exportOldest(call, options),
      ),
    );
  audit
    .command("retention")
    .description("show for how long events are kept, or set it; asks where some would go")
    .addOption(
      new Option("--days <days>", "remove what is older").argParser(integer(1, 3650)).conflicts("forever"),
    )
    .option("--forever", "keep every event")
    .option(...sureOption)
    .action(
      run(async (call, { days, forever, ...sure }: RetentionOptions) => {
        const { audit: verbs } = call.client;
        const set = forever
          ? await verbs.setRetention({ retention_days: null })
          : days === undefined
            ? await verbs.getRetention()
            : await (await import("../work/audit-log.ts")).keepFor(call, { days, ...sure });
        const told =
          set.retention_days === null
            ? "Every event is kept."
            : `Events are kept for ${countOf(set.retention_days, "day")}.`;
        call.show(set, () => toLines([told]));
      }),
    );
  audit
    .command("prune")
    .description("remove the events before a time for good; shows how many and asks")
    .requiredOption(...beforeOption)
    .option("--export <file>", "write them into a new file first, as export does")
    .option(...sureOption)
    .action(
      run(async (call, options: PruneOptions) => (await import("../work/audit-log.ts")).prune(call, options)),
    );
}

function addList(audit: Command, run: Run): void {
  audit
    .command("list")
    .description("list audit events")
    .option("--type <event>", "only events of this type")
    .option("--category <category>", "only events of this part of the product, e.g. secret")
    .option("--actor <name>", "only what one operator or agent did")
    .option("--target <name>", "only what was done to one thing")
    .option("--from <time>", "only at or after this time")
    .option("--to <time>", "only before this time")
    .option("--search <text>", "only with this in the summary")
    .option("--order <order>", "desc, newest first, or asc, oldest first")
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
}

function addVerify(audit: Command, run: Run): void {
  audit
    .command("verify [file...]")
    .description("check that nobody has changed the log, or exported files that follow each other")
    .option("--head <file>", "look for a head in the log that `audit head` has written")
    .option("--orchestrator-key <key>", "the key that must have signed the head; default the pinned one")
    .action(
      run(async (call, files: string[], options: VerifyOptions) => {
        if (files.length === 0) return (await import("../work/audit-head.ts")).verifyLog(call, options);
        if (options.head !== undefined)
          throw new UsageError("A head is looked for in the log, not in exported files.");
        return (await import("../work/audit-log.ts")).verifyFiles(call, files);
      }),
    );
  audit
    .command("head")
    .description("write where the log ends, signed, as a line of JSON to be kept elsewhere")
    .option("--file <file>", "a new file; default standard output")
    .action(
      run(async (call, options: { file?: string }) =>
        (await import("../work/audit-head.ts")).keepHead(call, options),
      ),
    );
}

const beforeOption = [
  "--before <time>",
  "with its zone, e.g. 2026-01-31T12:00:00Z; not in the future",
] as const;

const columns: readonly Column<AuditEvent>[] = [
  ["SEQUENCE", ({ sequence }) => sequence],
  ["TIME", ({ timestamp }) => timestamp, timeColumn],
  ["EVENT", ({ event_type }) => event_type],
  ["ACTOR", ({ actor }) => actor.name],
  ["SUMMARY", ({ summary }) => summary],
];
