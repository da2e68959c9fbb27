/** Options that say how a rollout goes through the agents. */
import { InvalidArgumentError } from "commander";
import type { Command } from "commander";
import type { RolloutStrategy } from "fleetwright";
import { integer } from "./options.ts";

/** The options as they are read. */
export interface StrategyOptions {
  batch?: number | string;
  maxFailures?: number | string;
  canary?: number;
  pause?: number;
  groupBy?: string;
  order?: "name" | "node_id" | "shuffled";
  maxRemovals?: number;
  queueOffline?: boolean;
}

/** Adds them to a command. */
export function addStrategyOptions(command: Command): Command {
  return command
    .option("--batch <n|n%>", "agents of a batch; default all at once", numberOrShare)
    .option("--max-failures <n|n%>", "failures after which nothing else is begun; default 0", numberOrShare)
    .option("--canary <n>", "agents of a first batch, in which none may fail", integer(1, 1_000_000))
    .option("--pause <seconds>", "wait between two batches", integer(0, 604_800))
    .option("--group-by <tag>", "never two values of a tag in one batch")
    .option("--order <order>", "name, node_id or shuffled; default name")
    .option(
      "--max-removals <n>",
      "do nothing on an agent where more would be removed; default any number",
      integer(0, 20_000),
    )
    .option("--queue-offline", "wait for agents that are away instead of failing");
}

/** The strategy that options say; undefined where they say nothing. */
export function toStrategy(options: StrategyOptions): RolloutStrategy | undefined {
  const { batch, maxFailures, canary, pause, groupBy, order, maxRemovals, queueOffline } = options;
  const strategy: RolloutStrategy = {
    ...(batch !== undefined && { batch }),
    ...(maxFailures !== undefined && { max_failures: maxFailures }),
    ...(canary !== undefined && { canary }),
    ...(pause !== undefined && { pause_seconds: pause }),
    ...(groupBy !== undefined && { group_by: groupBy }),
    ...(order !== undefined && { order }),
    ...(maxRemovals !== undefined && { max_removals: maxRemovals }),
    ...(queueOffline === true && { when_offline: "queue" }),
  };
  return Object.keys(strategy).length > 0 ? strategy : undefined;
}

/** The strategy in one line, e.g. "batch 10%, canary 1". */
export function describeStrategy(strategy: RolloutStrategy): string {
  const told = Object.entries(strategy).map(([name, value]) => `${name.replaceAll("_", " ")} ${value}`);
  return told.length > 0 ? told.join(", ") : "all at once";
}

function numberOrShare(text: string): number | string {
  if (!/^\d+%?$/.test(text)) throw new InvalidArgumentError("Neither a number nor a share such as 10%.");
  return text.endsWith("%") ? text : Number(text);
}
