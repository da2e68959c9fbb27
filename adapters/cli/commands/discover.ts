import type { Command } from "commander";
import type { Run } from "../call.ts";
import { idColumn, toLines, toTable } from "../text.ts";

/** `fleetwright discover` */
export function addDiscoverCommand(program: Command, run: Run): void {
  program
    .command("discover")
    .argument("[target]", "one machine, or a broadcast address; default all networks of the server")
    .description("call into the local network for agents that wait to be discovered")
    .option("--seconds <n>", "how long to wait for answers, 0.1 to 10", Number, 1.5)
    .action(
      run(async (call, target: string | undefined, { seconds }: { seconds: number }) => {
        const timeout_ms = Math.round(seconds * 1_000);
        const found = await call.client.discovery.broadcast({
          timeout_ms,
          ...(target !== undefined && { target }),
        });
        call.show(
          found,
          (view) => {
            const sent = toLines([
              `Sent to ${found.sent_to.join(", ") || "nobody: every network refused it"}.`,
            ]);
            if (found.responses.length === 0) return sent + toLines(["No agent answered."]);
            return (
              sent +
              toTable<(typeof found.responses)[number]>(
                found.responses,
                [
                  ["NODE", ({ node_id }) => node_id, idColumn],
                  ["HOST", ({ hostname }) => hostname],
                  ["ADDRESS", ({ address }) => address],
                  ["VERSION", ({ agent_version }) => agent_version],
                  ["STATUS", ({ approval_status }) => approval_status],
                ],
                view,
              )
            );
          },
          found.responses,
        );
      }),
    );
}
