/** Changing several agents: asking first, in calls of up to 1,000, and telling what happened to each. */
import type { AgentOutcome, AgentOutcomes } from "fleetwright";
import { ApiError } from "../client/api-error.ts";
import { askerOf, confirm, firstLines } from "./ask.ts";
import type { CommandCall } from "./call.ts";
import { exitCode, type ExitCode } from "./context.ts";
import type { Failed, FoundAgent, FoundAgents } from "./find-agents.ts";
import { toLine, toLines } from "./text.ts";

const atOnce = 1000;

/** What is done to them, and how it is told. */
export interface AgentsChange {
  /** One call of the server, which is about some of them. */
  change: (nodeIds: string[]) => Promise<AgentOutcomes>;
  /** Whether it is no fault that somebody decided about an agent after it was found: it was not named. */
  leavesOut: boolean;
  /** The lines for people. */
  tell: (outcomes: readonly AgentOutcome[], labelOf: (nodeId: string) => string) => string[];
}

/** Asks at a terminal before more than one agent is changed, with the list of them; `always` also before one. */
export async function askBefore(
  call: CommandCall,
  { found }: FoundAgents,
  about: { verb: string; yes: boolean | undefined; otherwise: string; always?: boolean },
): Promise<void> {
  const ask = askerOf(call, about.yes);
  if (ask === null || found.length === 0 || (found.length === 1 && about.always !== true)) return;
  const question = `${about.verb} ${found.length === 1 ? "this agent" : `these ${found.length} agents`}?`;
  await confirm(ask, { told: linesOf(found), question: toLine(question), otherwise: about.otherwise });
}

function linesOf(found: readonly FoundAgent[]): string[] {
  return firstLines(found.map(({ node_id, label }) => toLine(`  ${node_id}  ${label}`)));
}

/** Changes agents, and shows what happened to each. What failed is told at the end, and makes the exit code 1. */
export async function changeAgents(
  call: CommandCall,
  { found, failed }: FoundAgents,
  { change, leavesOut, tell }: AgentsChange,
): Promise<ExitCode> {
  const labels = new Map(found.map(({ node_id, label }) => [node_id, label]));
  const labelOf = (nodeId: string): string => labels.get(nodeId) ?? nodeId;
  const items: AgentOutcome[] = [];
  let ended: unknown;
  for (let at = 0; at < found.length && ended === undefined; at += atOnce)
    try {
      const nodeIds = found.slice(at, at + atOnce).map(({ node_id }) => node_id);
      items.push(...(await change(nodeIds)).items);
    } catch (error) {
      // What the calls before it did is told all the same.
      ended = error;
    }
  if (ended !== undefined && items.length === 0 && failed.length === 0) throw ended;
  const outcomes = leavesOut ? items.map(toLeftOut) : items;
  const counts = countOutcomes(outcomes);
  if (items.length > 0 || ended === undefined)
    call.show({ items: outcomes, ...counts }, () => toLines(tell(outcomes, labelOf).map(toLine)));
  const isFault = ({ outcome }: AgentOutcome): boolean =>
    outcome === "failed" || (outcome === "left_out" && !leavesOut);
  const faults = outcomes.filter(isFault).map(({ node_id, error }): Failed => ({
    text: labelOf(node_id),
    error: toError(error),
  }));
  const all = [...failed, ...faults];
  for (const { text, error } of all) call.tellFailure(error, text);
  if (ended !== undefined) throw ended;
  return all.length === 0 ? exitCode.ok : exitCode.failure;
}

/** One that is gone since the list was read was decided about, too. */
function toLeftOut(item: AgentOutcome): AgentOutcome {
  return item.outcome === "failed" && item.error?.code === "NOT_FOUND"
    ? { ...item, outcome: "left_out" }
    : item;
}

function countOutcomes(items: readonly AgentOutcome[]): Omit<AgentOutcomes, "items" | "next_cursor"> {
  const counts = { changed: 0, unchanged: 0, left_out: 0, failed: 0 };
  for (const { outcome } of items) counts[outcome] += 1;
  return counts;
}

/** The status that each of them has where it is the whole answer; of the others it is 409. */
const statuses: Readonly<Partial<Record<string, number>>> = {
  NOT_FOUND: 404,
  VALIDATION_FAILED: 400,
  INTERNAL: 500,
};

function toError(error: AgentOutcome["error"]): ApiError {
  const { code = "INTERNAL", message = "It was not changed." } = error ?? {};
  const type = `/problems/${code.toLowerCase().replaceAll("_", "-")}`;
  return new ApiError({ type, title: message, status: statuses[code] ?? 409, detail: message, code });
}
