import type { Command } from "commander";
import type { OperationOutputList } from "fleetwright";
import type { Input } from "../../client/inputs.ts";
import type { Run } from "../call.ts";
import { findAgent } from "../find-agent.ts";
import { findOperation, withSuggestion } from "../find-id.ts";
import { limitOption } from "../options.ts";
import { watchOperation } from "../run-one.ts";
import { describeOperation, operationColumns } from "../show-results.ts";
import { toLine, toLines, toSafeText } from "../text.ts";

/** As they were typed: whether there is such a kind or status is for the server to say. */
interface ListOptions extends Pick<Input<"listOperationsInput">, "kind" | "status" | "assignment" | "limit"> {
  agent?: string;
}

/** `fleetwright operations ...` */
export function addOperationsCommands(program: Command, run: Run): void {
  const operations = program
    .command("operations")
    .description("plans, applies and forgettings, and what came of them");
  operations
    .command("list")
    .description("list operations, newest first")
    .option("--agent <agent>", "only those of one agent")
    .option("--kind <kind>", "only plan, apply or forget")
    .option("--status <status>", "only those with this status")
    .option("--assignment <name>", "only those of one assignment")
    .option(...limitOption)
    .action(
      run(async (call, { agent, ...filter }: ListOptions) => {
        const node = agent === undefined ? {} : { node_id: (await findAgent(call.client, agent)).node_id };
        await withSuggestion(call, { assignment: filter.assignment }, () =>
          call.showList(call.client.operations.list, { ...filter, ...node }, operationColumns),
        );
      }),
    );
  operations
    .command("show <operation>")
    .description("show an operation with every resource")
    .action(
      run(async (call, typed: string) => {
        const operationId = await findOperation(call.client, typed);
        const operation = await call.client.operations.get(operationId);
        call.show(operation, () => call.paint.results(describeOperation(operation)));
      }),
    );
  operations
    .command("watch <operation>")
    .alias("attach")
    .description("follow an operation and its output to its end; the exit code is that of the end")
    .action(
      run(async (call, typed: string) => watchOperation(call, await findOperation(call.client, typed))),
    );
  operations
    .command("output <operation>")
    .description("show what scripts printed")
    .action(
      run(async (call, typed: string) => {
        const operationId = await findOperation(call.client, typed);
        const { node_id } = await call.client.operations.get(operationId);
        const output = await call.client.operations.output(node_id, { operation_id: operationId });
        call.show(output, () => describeOutput(output));
      }),
    );
  operations
    .command("cancel <operation>")
    .description("stop an operation: a running script is ended, any other change in progress is finished")
    .action(
      run(async (call, typed: string) => {
        const operationId = await findOperation(call.client, typed);
        const operation = await call.client.operations.cancel(operationId);
        call.show(operation, () => toLines([`${operationId} is ${operation.status}.`]));
      }),
    );
}

function describeOutput({ output }: OperationOutputList): string {
  return output
    .map(({ module, resource_id, stream, text, truncated }) => {
      const head = toLine(`== ${module}/${resource_id} ${stream}${truncated ? " (truncated)" : ""}`);
      return toLines([head, toSafeText(text).replace(/\n$/, "")]);
    })
    .join("");
}
