/** Filters of the list of agents that are about what other collections say of agents, each with its own way to find them. */
import type { z } from "zod";
import { parseReference } from "../module-format/module-reference.ts";
import type { AgentNames } from "./agent-names.ts";
import type { AppliedModules, AppliedSecrets } from "./applied.ts";
import type { Finding, Findings } from "./findings.ts";
import type { DriftFilter, listAgentsInput } from "./schemas.ts";

/** What is asked of the list: what callers may ask, and agents with any drift check. */
export type AgentQuery = Omit<z.output<typeof listAgentsInput>, "drift"> & {
  drift?: DriftFilter | "any" | undefined;
};

/** Finds the agents that pass one filter. */
export interface Lookup {
  /** After a node_id, page by page. */
  pages(stretch: { after: string; limit: number }): AsyncGenerator<readonly string[]>;
  /** Those of some agents that pass. */
  having(nodeIds: readonly string[]): Promise<ReadonlySet<string>>;
}

/** What they look in. */
export interface LookupParts {
  modules: AppliedModules;
  secrets: AppliedSecrets;
  findings: Findings;
  names: AgentNames;
}

/** One for each such filter that is asked for. */
export function lookupsFor(
  { modules, secrets, findings, names }: LookupParts,
  { module, secret_before, last_apply, drift, name }: AgentQuery,
): Lookup[] {
  return [
    // The one that finds fewest comes first.
    ...(name === undefined ? [] : [toLookup(names, name)]),
    ...(module === undefined ? [] : [toLookup(modules, parseReference(module))]),
    ...(secret_before === undefined ? [] : [toLookup(secrets, parseReference(secret_before))]),
    ...(last_apply === undefined
      ? []
      : [toLookup<Finding>(findings, { kind: "last_apply", status: last_apply })]),
    ...(drift === undefined
      ? []
      : [toLookup<Finding>(findings, { kind: "drift", status: drift === "any" ? null : drift })]),
  ];
}

function toLookup<Wanted>(
  found: {
    pages(wanted: Wanted, stretch: { after: string; limit: number }): AsyncGenerator<readonly string[]>;
    having(nodeIds: readonly string[], wanted: Wanted): Promise<ReadonlySet<string>>;
  },
  wanted: Wanted,
): Lookup {
  return {
    pages: (stretch) => found.pages(wanted, stretch),
    having: (nodeIds) => found.having(nodeIds, wanted),
  };
}
