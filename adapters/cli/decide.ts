/** Letting agents in, or keeping them out, one after the other: one that fails keeps none of the others. */
import type { Agent } from "fleetwright";
import { ApiError } from "../client/api-error.ts";
import type { CommandCall } from "./call.ts";
import { exitCode, type ExitCode } from "./context.ts";
import { describeFailure } from "./failure.ts";
import { findAgent } from "./find-agent.ts";
import { toLine, toLines } from "./text.ts";

interface Decision {
  status: "approved" | "rejected";
  name?: string;
}

/** Decides about agents by name or node_id. What failed is told at the end. */
export async function decideAll(
  call: CommandCall,
  names: readonly string[],
  decision: Decision,
): Promise<ExitCode> {
  const decide = async (text: string): Promise<Agent> => {
    const { node_id } = await findAgent(call.client, text);
    return call.client.agents.setStatus(node_id, decision);
  };
  const [only] = names;
  const { done, failed } =
    names.length === 1 ? { done: [await decide(only!)], failed: [] } : await each(names, decide);
  call.show(names.length === 1 ? done[0] : { items: done }, () =>
    toLines(done.map(({ name, node_id, status }) => `${name ?? node_id} is ${status}.`)),
  );
  return tellFailed(call, failed);
}

/**
 * Approves agents that waited a moment ago; one about which somebody decided meanwhile, or that is gone, does not wait any more: it is left
 * out, and that is no failure.
 */
export async function approveAll(call: CommandCall, nodeIds: readonly string[]): Promise<ExitCode> {
  const { done, failed } = await each(nodeIds, (id) =>
    call.client.agents.setStatus(id, { status: "approved", expected_status: "pending" }),
  );
  const faults = failed.filter(({ error }) => !isDecided(error));
  const left_out = failed.length - faults.length;
  call.show({ approved: done.length, left_out }, () =>
    toLines([
      `Approved: ${done.length}`,
      ...(left_out > 0 ? [`Left out, for they do not wait any more: ${left_out}`] : []),
    ]),
  );
  return tellFailed(call, faults);
}

interface Failed {
  text: string;
  error: unknown;
}

async function each(
  names: readonly string[],
  decide: (text: string) => Promise<Agent>,
): Promise<{ done: Agent[]; failed: Failed[] }> {
  const done: Agent[] = [];
  const failed: Failed[] = [];
  for (const text of names)
    try {
      done.push(await decide(text));
    } catch (error) {
      failed.push({ text, error });
      if (codeOf(error) === exitCode.notSignedIn) break;
    }
  return { done, failed };
}

function tellFailed({ context }: CommandCall, failed: readonly Failed[]): ExitCode {
  for (const { text, error } of failed) {
    const told = describeFailure(error).text;
    context.stderr(told.replace(/^fleetwright: /, (start) => `${start}${toLine(text)}: `));
  }
  if (failed.length === 0) return exitCode.ok;
  return failed.some(({ error }) => codeOf(error) === exitCode.notSignedIn)
    ? exitCode.notSignedIn
    : exitCode.failure;
}

function codeOf(error: unknown): ExitCode {
  return describeFailure(error).code;
}

function isDecided(error: unknown): boolean {
  return error instanceof ApiError && ["NOT_FOUND", "INVALID_TRANSITION"].includes(error.code);
}
