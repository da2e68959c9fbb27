import type { AgentOptions } from "./agent-options.ts";
import { EnrolmentToken } from "./enrolment-token.ts";
import { FollowedEpoch } from "./followed-epoch.ts";
import { type AgentIdentity, type IdentityContext, loadIdentity, PinnedOrchestrator } from "./identity.ts";

/** Who an agent is, whom it obeys, and what it brings. */
export interface AgentKeys {
  identity: AgentIdentity;
  pin: PinnedOrchestrator;
  epochs: FollowedEpoch;
  token: EnrolmentToken;
}

/**
 * Reads what the state folder has of it, together with what the agent was given.
 *
 * @throws {OrchestratorError} `STORAGE_CORRUPT` for a damaged file; `ORCHESTRATOR_KEY_CHANGED`, `KEY_REFUSED` for the key that was given.
 */
export function loadKeys(
  context: IdentityContext,
  { orchestratorKey, enrolmentToken }: Pick<AgentOptions, "orchestratorKey" | "enrolmentToken">,
): AgentKeys {
  return {
    identity: loadIdentity(context),
    pin: new PinnedOrchestrator(context, orchestratorKey),
    epochs: new FollowedEpoch(context),
    token: new EnrolmentToken(context, enrolmentToken),
  };
}
