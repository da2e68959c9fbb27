import type { Command } from "commander";
import type { RestoreState } from "fleetwright";
import { makeSure, sureOption, type SureOptions } from "../ask.ts";
import type { CommandCall, Run } from "../call.ts";
import type { TableView } from "../cells.ts";
import { exitCode, type ExitCode } from "../context.ts";
import { idColumn, toFacts, toLines, toTable } from "../text.ts";

/** `fleetwright resume` */
export function addResumeCommand(program: Command, run: Run): void {
  program
    .command("resume")
    .description("let a restored server go on; without --yes, shows what would happen and asks")
    .option(...sureOption)
    .action(run((call, options: SureOptions) => resume(call, options)));
}

async function resume(call: CommandCall, options: SureOptions): Promise<ExitCode> {
  const before = await call.client.restores.get();
  if (before.status === "active") {
    call.show(before, () => toLines(["The server is not paused after a restore."]));
    return exitCode.ok;
  }
  // Asked on standard error: what would happen is the result, also for a pipe.
  if (options.yes !== true) call.show(before, (view) => describe(before, view));
  await makeSure(call, options, "Let the server go on");
  const after = await call.client.restores.resume();
  call.show(after, () => toLines(["The server goes on.", ...after.missed.map(toSkipped)]));
  return exitCode.ok;
}

function toSkipped({ assignment, due_at }: RestoreState["missed"][number]): string {
  return `Not carried out: ${assignment}, due at ${due_at}.`;
}

function describe(state: RestoreState, view: TableView): string {
  const more = state.open_operations - state.operations.length;
  return [
    toFacts([
      ["Restored", state.restored_at ?? undefined],
      ["Backup of", state.backup_at ?? undefined],
      ["Epoch", state.epoch?.number],
      ["Enforced again", state.enforcing.length > 0 ? state.enforcing.join(", ") : undefined],
    ]),
    section(
      "Open operations:",
      state.operations,
      [
        ["OPERATION", ({ operation_id }) => operation_id, idColumn],
        ["KIND", ({ kind }) => kind],
        ["AGENT", ({ agent_name }) => agent_name],
        ["STATUS", ({ status }) => status],
        ["WOULD", ({ would }) => (would === "begin" ? "begin" : "end as its agent tells")],
      ],
      view,
    ),
    more > 0 ? toLines([`... and ${more} more`]) : "",
    section(
      "Rollouts that would go on:",
      state.rollouts,
      [
        ["ROLLOUT", ({ rollout_id }) => rollout_id, idColumn],
        ["WHAT", ({ assignment, command }) => assignment ?? command],
        ["KIND", ({ kind }) => kind],
        ["STATUS", ({ status }) => status],
        ["AGENTS LEFT", ({ left, matched }) => `${left} of ${matched}`],
      ],
      view,
    ),
    section(
      "Due times that have passed, and will not be carried out:",
      state.missed,
      [
        ["ASSIGNMENT", ({ assignment }) => assignment],
        ["DUE", ({ due_at }) => due_at],
      ],
      view,
    ),
  ].join("");
}

function section<Item>(title: string, ...table: Parameters<typeof toTable<Item>>): string {
  return table[0].length === 0 ? "" : toLines(["", title]) + toTable(...table);
}
