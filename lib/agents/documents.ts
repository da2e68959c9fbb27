import type { CollectionDefinition } from "../storage/storage.ts";
import type { Attributes } from "../wire/messages.ts";
import type { AppliedStatus, FoundStatus } from "./schemas.ts";

/** Whether an agent may do anything. */
export type ApprovalStatus = "pending" | "approved" | "rejected";

/** Key/value pairs that operators attach to an agent. */
export type Tags = Record<string, string>;

/** An agent as stored, under its node_id. */
export interface AgentDocument {
  node_id: string;
  name?: string;
  status: ApprovalStatus;
  hostname: string;
  platform: string;
  agent_version: string;
  public_key: string;
  box_public_key: string;
  remote_address: string | null;
  first_seen_at: string;
  last_seen_at: string;
  approved_at?: string;
  approved_by?: string;
  /** Set where another agent stands in its place: its key stays out, unless it takes the place back. */
  replaced_by?: string;
  /** What it was before; absent in what earlier versions wrote. */
  status_when_replaced?: ApprovalStatus;
  /** The agent whose place it took, and what it gave up for that: it gets it again where that one takes its place back. */
  in_place_of?: { node_id: string; name?: string; tags: Tags };
  tags: Tags;
}

/** What an agent tells of its machine, under its node_id. */
export interface AttributesDocument {
  node_id: string;
  attributes: Attributes;
  collected_at: string;
}

/** That an agent has a module, under `node_id/module`. */
export interface AppliedModuleDocument {
  node_id: string;
  module: string;
  /** The revision that was last applied to its end. */
  revision: number;
}

/** That an agent has a secret, under `node_id/secret`. */
export interface AppliedSecretDocument {
  node_id: string;
  secret: string;
  /** The oldest version of its value that the agent has. */
  version: number;
}

/** What is known of the newest apply and the newest drift check of an agent, under its node_id. */
export interface FindingsDocument {
  node_id: string;
  /** Of the applies that began, the one that did so last and has ended, however it did. */
  last_apply?: { operation_id: string; status: AppliedStatus; finished_at: string };
  /** When that began, a fleet time. */
  applied_at?: number;
  /** Set where that left the machine otherwise than was asked for. */
  apply_failed?: true;
  /** The newest drift check that could tell; gone when everything was applied since. */
  drift?: { drift_id: string; status: FoundStatus; checked_at: string };
  /** The newest drift check, where it could not. */
  failed_drift_check?: { drift_id: string; checked_at: string };
  /** Set where there is one. */
  check_failed?: true;
  /** The revision that is in place of each module, by name. */
  modules?: { [module: string]: number };
}

/** That an agent was told offline, under its node_id; until it is told back. */
export interface OfflineDocument {
  node_id: string;
  /** When the first of those that went with it did. */
  since: string;
}

/** That a process asks the others for an agent that is not connected to it, under its node_id; until one has it, or it is told offline. */
export interface SoughtDocument {
  node_id: string;
}

/** What the agents feature keeps. */
export const agentCollections = {
  agents: { indexes: { by_status: ["status"] } },
  /** Guards names: key = lower-case name. */
  agent_names: { indexes: {} },
  agent_attributes: { indexes: {} },
  applied_modules: { indexes: { by_module: ["module"], by_revision: ["module", "revision"] } },
  applied_secrets: { indexes: { by_secret: ["secret"] } },
  agent_findings: {
    indexes: {
      by_last_apply: ["last_apply.status"],
      by_failure: ["apply_failed"],
      by_drift: ["drift.status"],
      by_failed_check: ["check_failed"],
    },
  },
  offline_agents: { indexes: {} },
  sought_agents: { indexes: {} },
  /** Keys of removed agents: when one comes back, its enrolment says so, and nothing is inherited. */
  removed_agents: { indexes: {} },
} as const satisfies Record<string, CollectionDefinition>;
