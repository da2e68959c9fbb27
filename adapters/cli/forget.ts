/** Dropping ownership of what was applied on one machine. */
import { ApiError } from "../client/api-error.ts";
import type { Client } from "../client/client.ts";
import { askerOf, confirm, firstLines } from "./ask.ts";
import type { CommandCall } from "./call.ts";
import type { ExitCode } from "./context.ts";
import { findAgent } from "./find-agent.ts";
import { whileGoingOn } from "./going-on.ts";
import { describeOperation } from "./show-results.ts";
import { nameOf } from "./show-state.ts";
import type { BelievedResource } from "./show-state.ts";
import { alignRows, toLine } from "./text.ts";
import { awaitOperation, exitCodeOf, longestWaitSeconds } from "./wait.ts";

/** Options of `fleetwright state forget`. */
export interface ForgetOptions {
  yes?: boolean;
  wait: boolean;
}

/** Has an agent forget resources; asks first, where somebody is there to ask. */
export async function forget(
  call: CommandCall,
  { agent, names, options }: { agent: string; names: string[]; options: ForgetOptions },
): Promise<ExitCode> {
  const { client } = call;
  const { node_id, name = node_id } = await findAgent(client, agent);
  const ask = askerOf(call, options.yes);
  if (ask) {
    const { applied, unread } = await readApplied(client, node_id);
    await confirm(ask, {
      told: [
        toLine(`${name} is to forget these, and to leave what is on the machine as it is:`),
        ...firstLines(describeNamed(names, applied)),
        ...unread,
      ],
      question: "Forget them?",
      otherwise: "Nothing was forgotten.",
    });
  }
  // What the agent does not own is refused where the server waits for it.
  const wait_seconds = options.wait ? longestWaitSeconds : 0;
  const { operation_id } = await client.state.forget(node_id, { resources: names, wait_seconds });
  const operation = await whileGoingOn(call, { kind: "operation", id: operation_id }, () =>
    awaitOperation(call, operation_id, options.wait),
  );
  call.show(operation, () => describeOperation(operation));
  return exitCodeOf([operation]);
}

/** What an agent has, as far as the server can tell: who wants rid of what nobody can read any more must be able to. */
async function readApplied(
  client: Client,
  nodeId: string,
): Promise<{ applied: readonly BelievedResource[]; unread: string[] }> {
  try {
    return { applied: (await client.state.believed(nodeId)).applied, unread: [] };
  } catch (error) {
    // Of a server that gave no answer nothing can be asked afterwards either.
    if (!(error instanceof ApiError) || error.status === 0) throw error;
    return { applied: [], unread: [toLine(`What it has can't be told: ${error.code}: ${error.message}`)] };
  }
}

/** What is known of the names: the agent may own what is not known here, and says so where it does not. */
function describeNamed(names: readonly string[], applied: readonly BelievedResource[]): string[] {
  const isCalled = (resource: BelievedResource, name: string): boolean =>
    resource.module === name || nameOf(resource) === name;
  const known = applied.filter((resource) => names.some((name) => isCalled(resource, name)));
  const unknown = names.filter((name) => !known.some((resource) => isCalled(resource, name)));
  const rows = known.map((resource) => [nameOf(resource), resource.type, resource.identity].map(toLine));
  return [...alignRows(rows), ...unknown.map(toLine)].map((line) => `  ${line}`);
}
